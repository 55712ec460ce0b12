import type { BbrOptions } from './bbr-settings.ts'

// The shedder that somebody had elsewhere, as options of ours.
//
// Sources: go-kratos/aegis (commit e0742c6), zeromicro/go-zero (commit 11f2109), and the formula as the article on kratos has it. What they decide,
// our gate decides by its own rules: docs/bbr.md has the differences.

/** The bound as the formula has it, and nothing besides: averages of single completions, no headroom, no drain, no slack. */
const formula: BbrOptions = { atLeast: 1, headroom: 0, drain: 1, slack: 1 }

/** The numbers of aegis: 10 s in 100 buckets, CPU every 500 ms with 5 % of each new sample. It takes half a minute to see a full CPU. */
const aegis: BbrOptions = {
  ...formula,
  over: '10s',
  buckets: 100,
  above: 0.8,
  sampleEvery: '500ms',
  weight: 0.05,
  coolDown: '1s',
  startAt: 2,
}

/** The numbers of go-zero: 5 s in 50 buckets, 90 % of the CPU, and `startAt` as its bound is before it knows. */
const goZero: BbrOptions = {
  ...formula,
  over: '5s',
  buckets: 50,
  above: 0.9,
  sampleEvery: '250ms',
  weight: 0.05,
  coolDown: '1s',
  startAt: 10,
}

/** Options for `bbr` with the numbers of others: `bbr({ ...bbrPresets.aegis, cpu })`. */
export const bbrPresets: {
  readonly formula: BbrOptions
  readonly aegis: BbrOptions
  readonly goZero: BbrOptions
} = { formula, aegis, goZero }
