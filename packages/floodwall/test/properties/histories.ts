import { seeded } from 'floodwall/testing'

// 10^5 histories of one thing, each from a seed of its own. fast-check makes, keeps and shrinks its cases, which costs a hundred times what these
// do; it has the same properties in trips/ and stats/, for fewer histories. Here a failure names its seed, and shows the history up to there.

const HISTORIES = 100_000

/** One history lives: how many steps it had. Throws where subject and reference differ. */
export type Life = (dice: Dice) => number

/** All the chance of one history. */
export class Dice {
  /** What happened, while somebody wants to know. */
  readonly log: string[] | null
  private readonly random: () => number

  constructor(seed: number, log: string[] | null = null) {
    this.random = seeded(seed)
    this.log = log
  }

  /** A whole number from 0, below `n`. */
  below(n: number): number {
    return Math.floor(this.random() * n)
  }

  /** A whole number, both ends included. */
  from(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  /** True for a share of the throws. */
  hits(share: number): boolean {
    return this.random() < share
  }

  /** From `least` to `most`, as often below 1 as above: evenly on the scale of logarithms. */
  spread(least: number, most: number): number {
    return least * Math.exp(this.random() * Math.log(most / least))
  }
}

/** Lives all histories; the line for the test's output. */
export function live(name: string, base: number, life: Life): string {
  let steps = 0
  for (let i = 0; i < HISTORIES; i++) {
    const seed = base + i
    try {
      steps += life(new Dice(seed))
    } catch (error) {
      throw new Error(`${name}, history ${i} of seed ${seed}: ${story(seed, life)}`, { cause: error })
    }
  }
  return `${name}: ${HISTORIES.toLocaleString('en')} histories, ${steps.toLocaleString('en')} steps`
}

/** The same once more, step by step, up to the difference. */
function story(seed: number, life: Life): string {
  const log: string[] = []
  try {
    life(new Dice(seed, log))
  } catch (error) {
    log.push(`then ${(error as Error).message}`)
  }
  return log.join('; ')
}

/** A step that must agree to the last bit. */
export function same(what: string, got: unknown, want: unknown): void {
  if (!Object.is(got, want)) throw new Error(`${what} is ${String(got)}, and not ${String(want)}`)
}

/** ... or up to rounding, on the scale of the numbers that went into it. */
export function near(what: string, got: number, want: number, scale: number): void {
  if (!(Math.abs(got - want) <= 1e-9 * scale)) throw new Error(`${what} is ${got}, and not ${want}`)
}

const DAY_30 = 2_592_000_000
const LONGEST_TIMER = 2_147_483_648
const NO_TIMES = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -5]

/** Widths of a bucket, and times to start at, that doubles hold exactly, eighths of a millisecond included. */
export const WIDTHS: readonly number[] = [0.125, 1, 8, 100, 125, 1000]
export const STARTS: readonly number[] = [0, 12_345.625, LONGEST_TIMER, 1e12]

/** Time of a history: stands still, goes a little, onto an edge or beside it, far, back. */
export class Clock {
  /** Where it is. A reading may be something else: {@link read}. */
  now: number
  /** The newest that was read. */
  newest = 0
  private readonly dice: Dice
  private readonly widthMs: number

  constructor(dice: Dice, widthMs: number, startAt: number) {
    this.dice = dice
    this.widthMs = widthMs
    this.now = startAt
  }

  /** Moves, and is read; now and then what is read is no time at all. */
  read(): number {
    const said = this.move()
    if (said > this.newest && said < Number.POSITIVE_INFINITY) this.newest = said
    this.dice.log?.push(`at ${said}`)
    return said
  }

  /** It stands where it has been before, or is no time. */
  get isBehind(): boolean {
    return this.now !== this.newest
  }

  private move(): number {
    const { dice, widthMs } = this
    const what = dice.below(100)
    if (what < 30) return this.now
    if (what < 55) this.now += eighths((dice.below(33) * widthMs) / 64)
    else if (what < 74) this.now += eighths((dice.below(25) * widthMs) / 8)
    else if (what < 84) this.now = this.edge()
    else if (what < 90) this.now = Math.max(0, this.edge() + dice.pick([-0.125, 0.125]))
    else if (what < 93) this.now += dice.pick([DAY_30, LONGEST_TIMER])
    else if (what < 97) this.now = Math.max(0, this.now - dice.pick([0.125, widthMs, 5 * widthMs, 3_600_000]))
    else return dice.pick(NO_TIMES)
    return this.now
  }

  /** Of one of the next buckets; never before now by more than a bucket. */
  private edge(): number {
    const { dice, widthMs } = this
    return (Math.floor(this.now / widthMs) + dice.below(13)) * widthMs
  }
}

function eighths(ms: number): number {
  return Math.round(ms * 8) / 8
}
