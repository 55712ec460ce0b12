import * as v from 'valibot'
import { rangeForm, rangeOf, Trust } from '../listener/trust.ts'
import { made } from './words.ts'

const MOST_RANGES = 1000

/** `trust: [10.0.0.0/8, "::1"]` */
export const trustOptions: v.GenericSchema<string[], Trust> = v.pipe(
  v.array(made(rangeOf, rangeForm), 'a list of addresses and ranges'),
  v.maxLength(MOST_RANGES, `at most ${MOST_RANGES} ranges`),
  v.transform((ranges) => new Trust(ranges)),
)
