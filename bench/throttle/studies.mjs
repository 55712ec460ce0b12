// The studies in virtual time. A study has
//   rows        { name, ... }: a line of its tables for each, and under which conditions
//   seeds       how many lives each contender lives under each of them
//   measure(row, make, seed, library)  one life: an object of numbers
//   tables      lists of [title, line => text]; `line.of(contender)` are its numbers for all seeds
import { outage } from './studies/outage.mjs'
import { overload } from './studies/overload.mjs'
import { partial } from './studies/partial.mjs'

/** @type {any[]} */
export const studies = [outage, partial, overload]
