// When shall somebody who was refused for overload ask again?
//
// By what he is: people wait a moment, batches minutes. And spread, so that those who were refused together do not come back together.
//
// `critical`, chance 0.5: 1.5 s.

/** By rank, in milliseconds: so long, and up to so much more at random. */
const PAUSES = [
  { least: 500, more: 500 },
  { least: 1000, more: 1000 },
  { least: 60_000, more: 120_000 },
  { least: 120_000, more: 240_000 },
] as const

/** Whole milliseconds. `chance` is uniform in [0, 1). */
export function comeAgainMs(rank: number, chance: number): number {
  const { least, more } = PAUSES[rank] as (typeof PAUSES)[number]
  return Math.round(least + more * chance)
}
