import type { HashSeed } from '../keys/hash.ts'
import { RowHash } from './row-hash.ts'

// Until when did somebody owe who has been forgotten?
//
// Source: the count-min sketch (Cormode and Muthukrishnan 2005), with the latest time in the place of a sum. A value has a cell in each row, where the
// times of all values that meet there are one: the latest. The earliest of its cells is least wrong. Nothing is ever taken out: a time that is past
// says nothing any more.
//
// 4 cells of a row for each place: while as many as there are places owe, 5 of 100 strangers meet some of them in both rows, and are taken for those.
//
// Invariant: never earlier than the latest time that was noted for the value; the memory has a bound, and is none until the first note.

const ROWS = 2
const WIDTH = 4
/** 16 KB: few places see as many strangers as many do. */
const LEAST_CELLS = 1024
/** 16 MB: with more places than 262,144 strangers are taken for others more often. */
const MOST_CELLS = 1_048_576

export class DebtSketch {
  private readonly rows: RowHash
  private times: Float64Array | null = null

  constructor(places: number, seed: HashSeed) {
    this.rows = new RowHash(Math.max(LEAST_CELLS, Math.min(places * WIDTH, MOST_CELLS)), seed)
  }

  /** The value owes until `time`. */
  note(value: unknown, time: number): void {
    const { rows } = this
    this.times ??= new Float64Array(rows.width * ROWS).fill(Number.NEGATIVE_INFINITY)
    const { times } = this
    const hash = rows.of(value)
    for (let row = 0; row < ROWS; row++) {
      const cell = rows.cell(hash, row)
      times[cell] = Math.max(times[cell] as number, time)
    }
  }

  /** Until when, at the latest; -Infinity: never noted. */
  until(value: unknown): number {
    const { rows, times } = this
    if (times === null) return Number.NEGATIVE_INFINITY
    const hash = rows.of(value)
    let earliest = Number.POSITIVE_INFINITY
    for (let row = 0; row < ROWS; row++) earliest = Math.min(earliest, times[rows.cell(hash, row)] as number)
    return earliest
  }

  /** What is owed at `now` takes so many times as long; by 0 or Infinity as long as before. */
  stretch(factor: number, now: number): void {
    const { times } = this
    if (times === null || factor === 1 || !(factor > 0 && factor < Number.POSITIVE_INFINITY)) return
    for (let cell = 0; cell < times.length; cell++) {
      const owed = (times[cell] as number) - now
      if (owed > 0) times[cell] = now + owed * factor
    }
  }
}
