import type { KeyLimit } from './key-limit.ts'

// How many seats may those have who can owe for long?
//
// A newcomer cannot take over more than his own limit lets him owe. Where some keys may owe for an hour and others for a second, whoever invents
// names of the first kind takes one seat after the other, and those of the second kind find none. So the longer debts may grow, the fewer
// seats: of the seats that there are, half stay for those who owe for the shortest time; of the others half for those who come next. Where the
// shorter limits are those of single keys, no more stays than these need.
//
// 1000 seats; most keys 10 a second, `free:*` 10 an hour: at most 500 free ones have a seat, and a thousand others find the rest.
//
// Invariant: for each kind there are seats that no longer kind has; limits that let owe alike have all seats in common.

/** Of the longest ones, all others are one kind. */
const MOST_LEVELS = 8
/** As long, but for a rounding. */
const ALIKE = 1 + 1e-9

export class Shares {
  /** By limit: how many kinds owe for a shorter time. */
  private readonly levels: Uint8Array
  /** By level: seats that it and all above it may have together, and those that they have. */
  private readonly rooms: number[]
  private readonly taken: number[]

  /** `mostMs`: for how long keys with a limit may owe; 0 for those that may have nothing. */
  constructor(limits: readonly KeyLimit[], max: number, mostMs: (limit: KeyLimit) => number) {
    const spans = limits.map((limit) => (limit.frozen && limit.burst > 0 ? Number.POSITIVE_INFINITY : mostMs(limit)))
    const kinds: number[] = []
    for (const span of spans.filter((ms) => ms > 0).sort((a, b) => a - b)) {
      const longest = kinds.at(-1)
      if (longest === undefined || (span > longest * ALIKE && kinds.length < MOST_LEVELS)) kinds.push(span)
    }
    this.levels = Uint8Array.from(spans, (span) =>
      Math.max(
        0,
        kinds.findLastIndex((kind) => span * ALIKE >= kind),
      ),
    )
    const needs = kinds.map(() => 0)
    // Who may have nothing is refused with or without a seat.
    for (const [which, { single }] of limits.entries())
      if (spans[which]! > 0) needs[this.levels[which]!]! += single ? 1 : Number.POSITIVE_INFINITY
    this.rooms = [max]
    for (const need of needs.slice(0, -1)) {
      const room = this.rooms.at(-1) as number
      this.rooms.push(room - Math.min(Math.floor(room / 2), need))
    }
    this.taken = this.rooms.map(() => 0)
  }

  levelOf(which: number): number {
    return this.levels[which]!
  }

  /** The level from which on somebody has to go before one more with the limit `which` may come; 0: nobody has to. */
  fullFrom(which: number): number {
    for (let level = this.levels[which]!; level > 0; level--) if (this.taken[level]! >= this.rooms[level]!) return level
    return 0
  }

  /** `by`: 1 when a key with the limit `which` has come, -1 when it goes. */
  count(which: number, by: number): void {
    for (let level = this.levels[which]!; level > 0; level--) this.taken[level]! += by
  }
}
