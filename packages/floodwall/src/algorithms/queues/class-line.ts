import type { Criticality } from '../../core/init.ts'
import { Place, WaitList } from './wait-list.ts'

// Who goes first, when some matter more than others?
//
// Source: the four classes of "Site Reliability Engineering", ch. 21. A line for each; a class goes when nobody of a higher one waits, and
// within it the oldest or the newest goes. Where all places are taken, the least of those who wait makes room for who matters more.
//
// Waiting: sheddable a, critical b, critical c. First in, first out they go b, c, a; the newest first c, b, a. Whoever must leave is a.
//
// Invariant: nobody goes while somebody of a higher class waits and could go; within a class the order is that of the tickets, but for
// those who were let out and could not go after all, who stand at the end at which they left.

const RANKS: Readonly<Record<Criticality, number>> = { criticalPlus: 0, critical: 1, sheddablePlus: 2, sheddable: 3 }

/** 0 goes first, 3 last. */
export function rankOf(criticality: Criticality): number {
  return RANKS[criticality]
}

/** A place in a line of classes. */
export class RankedPlace extends Place {
  /** See {@link rankOf}. */
  readonly rank: number
  /** Grows from one to the next. */
  readonly ticket: number

  constructor(rank: number, ticket: number) {
    super()
    this.rank = rank
    this.ticket = ticket
  }
}

export class ClassLine<W extends RankedPlace> {
  size = 0
  private readonly lines: readonly WaitList<W>[] = [new WaitList(), new WaitList(), new WaitList(), new WaitList()]

  push(waiter: W): void {
    this.lineOf(waiter).push(waiter)
    this.size++
  }

  /** One who was let out, and could not go after all. */
  back(waiter: W, newestFirst: boolean): void {
    if (newestFirst) this.lineOf(waiter).push(waiter)
    else this.lineOf(waiter).unshift(waiter, (other) => other.ticket < waiter.ticket)
    this.size++
  }

  /** Leaves, from wherever it stands; false when it was not in the line. */
  remove(waiter: W): boolean {
    if (!this.lineOf(waiter).remove(waiter)) return false
    this.size--
    return true
  }

  /** Who goes next, of the classes from `rank` down. */
  next(newestFirst: boolean, rank = 0): W | undefined {
    for (let at = rank; at < this.lines.length; at++) {
      const line = this.lines[at] as WaitList<W>
      if (line.size > 0) return newestFirst ? line.newest : line.oldest
    }
    return undefined
  }

  /** Who would go last of all. */
  last(newestFirst: boolean): W | undefined {
    for (let at = this.lines.length - 1; at >= 0; at--) {
      const line = this.lines[at] as WaitList<W>
      if (line.size > 0) return newestFirst ? line.oldest : line.newest
    }
    return undefined
  }

  /** How many of the class wait. */
  waitingOf(rank: number): number {
    return (this.lines[rank] as WaitList<W>).size
  }

  /** How many would go before one who comes now. */
  before(rank: number, newestFirst: boolean): number {
    let ahead = newestFirst ? 0 : this.waitingOf(rank)
    for (let at = 0; at < rank; at++) ahead += this.waitingOf(at)
    return ahead
  }

  private lineOf(waiter: W): WaitList<W> {
    return this.lines[waiter.rank] as WaitList<W>
  }
}
