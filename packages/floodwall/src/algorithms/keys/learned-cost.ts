import { TimeEwma } from '../stats/ewma.ts'

// What will this call cost, in milliseconds of work?
//
// What calls of its kind (`method`) have taken lately, on average; before the first of its kind, what all have; before any, what the caller says.
// It is an estimate: when the call has ended, its key is charged what it took.
//
// `GET /report` took 800 ms twice, everything else 5 ms: a report is charged 800 ms at its beginning, and a key with 200 ms a second gets one in
// four seconds, whatever it sends.
//
// Invariant: an estimate lies between the smallest and the largest time of its kind; at most MOST_METHODS kinds are told apart.

/** As for averages elsewhere: long enough for calls that are rare, short enough to follow a deployment. */
const TAU_MS = 10_000
/** `method` is a name from a small set; who makes it up from ids fills this and no more. */
const MOST_METHODS = 64

export class LearnedCost {
  private readonly kinds = new Map<string, number>()
  /** By kind; the first is that of all. */
  private readonly averages = [new TimeEwma(TAU_MS)]

  /** A small number for `method`; 0 for none, and for those that there is no room for. */
  kindOf(method: string | undefined): number {
    if (method === undefined) return 0
    const known = this.kinds.get(method)
    if (known !== undefined) return known
    if (this.kinds.size >= MOST_METHODS) return 0
    const kind = this.averages.push(new TimeEwma(TAU_MS)) - 1
    this.kinds.set(method, kind)
    return kind
  }

  /** Milliseconds; `said` when nothing is known. */
  estimate(kind: number, said: number): number {
    const own = this.averages[kind] as TimeEwma
    if (own.samples > 0) return own.value
    const [all] = this.averages as [TimeEwma]
    return all.samples > 0 ? all.value : said
  }

  record(kind: number, tookMs: number, now: number): void {
    if (kind !== 0) this.averages[kind]?.record(tookMs, now)
    this.averages[0]?.record(tookMs, now)
  }
}
