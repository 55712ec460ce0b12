// The studies, all in virtual time: rows, contenders, seeds, measure(row, layers, seed, library), tables.
import { classes } from './studies/classes.mjs'
import { load } from './studies/load.mjs'

/** @type {any[]} */
export const studies = [load, classes]
