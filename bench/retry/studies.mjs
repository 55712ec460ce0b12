// The studies, all in virtual time. A study has
//   rows        { name, ... }: a line of its tables for each, and under which conditions
//   contenders  by name: what the lines are about
//   seeds(contender)  how many lives it lives under each condition
//   measure(row, contender, seed, library)  one life: an object of numbers
//   tables      lists of [title, line => text]; `line.of(name)` are the numbers of a contender for all seeds
import { aftermath } from './studies/aftermath.mjs'
import { amplification } from './studies/amplification.mjs'
import { hedging } from './studies/hedging.mjs'

/** @type {any[]} */
export const studies = [amplification, aftermath, hedging]
