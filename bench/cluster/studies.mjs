// The studies in virtual time. A study has
//   rows     { name, ... }: a line of its table for each, and under which conditions
//   contenders  who is measured under each of them
//   measure(row, contender, seed, library)  one seed: an object of numbers, null for "never"
//   columns  [title, line => text]; `line.of(contender)` are its numbers for all seeds
import { allOut } from './studies/all-out.mjs'
import { isolation } from './studies/isolation.mjs'
import { shares } from './studies/shares.mjs'

/** @type {any[]} */
export const studies = [shares, isolation, allOut]
