import type { Verdict } from 'floodwall'

// The gate once more, as slow and as plain as can be: it keeps everything that ever happened in lists, and asks the lists again each time. Written
// from the page of the layer, not from the code.

export interface NaiveSettings {
  readonly above: number
  readonly coolDown: number
  readonly sampleEvery: number
  readonly weight: number
  readonly over: number
  readonly buckets: number
  readonly atLeast: number
  readonly startAt: number
  readonly headroom: number
  readonly drain: number
  readonly slack: number
}

interface Stretch {
  readonly rate: number
  readonly mean: number
}

const LATELY = 10
const MINUTE_OF_WINDOWS = 12

export class NaiveBbr {
  inFlight = 0
  refused = 0
  private readonly of: NaiveSettings
  private readonly width: number
  private readonly asks: number[] = []
  private readonly passes: { readonly slot: number; readonly tookMs: number }[] = []
  private usage: number | undefined
  private samples: { readonly at: number; readonly above: boolean }[] = []
  private wasHot = false
  private kept: { readonly at: number; readonly leastMs: number }[] = []

  constructor(of: NaiveSettings) {
    this.of = of
    this.width = of.over / of.buckets
  }

  /** True: it is inside. */
  ask(usage: number, now: number): boolean {
    this.asks.push(this.slot(now))
    const hot = this.hot(usage, now)
    if (hot !== this.wasHot) {
      this.wasHot = hot
      this.kept = []
      if (hot) this.keep(now)
    }
    if (hot && this.inFlight > 0) {
      this.keep(now)
      if (this.inFlight >= this.bound(now)) {
        this.refused++
        return false
      }
    }
    this.inFlight++
    return true
  }

  end(verdict: Verdict | 'cancel', tookMs: number, now: number): void {
    this.inFlight--
    if (verdict === 'success') this.passes.push({ slot: this.slot(now), tookMs })
  }

  bound(now: number): number {
    const { startAt, headroom, drain, slack } = this.of
    const best = this.best(now)
    if (best === undefined) return startAt
    const window = Math.floor(now / this.of.over)
    const kept = this.kept.filter(({ at }) => Math.floor(at / this.of.over) > window - MINUTE_OF_WINDOWS)
    const least = Math.min(best.mean, ...kept.map(({ leastMs }) => leastMs))
    const product = best.rate * least
    const tight = atLeastOne(product + headroom * Math.sqrt(product))
    if (slack > 1 && this.demand(now) < best.rate) return Math.floor(tight * slack)
    const part = Math.floor(now / (2 * Math.max(this.width, least)))
    return drain < 1 && part % 4 === 3 ? atLeastOne(product * drain) : tight
  }

  private keep(now: number): void {
    const best = this.best(now)
    if (best !== undefined) this.kept.push({ at: now, leastMs: best.mean })
  }

  private hot(usage: number, now: number): boolean {
    const { sampleEvery, weight, above, coolDown } = this.of
    const last = this.samples.at(-1)
    if (last === undefined || now - last.at >= sampleEvery) {
      const late = last === undefined ? 1 : (now - last.at) / sampleEvery
      const old = (1 - weight) ** late
      this.usage = this.usage === undefined ? usage : old * this.usage + (1 - old) * usage
      this.samples.push({ at: now, above: this.usage > above })
    }
    if (this.samples.at(-1)?.above === true) return true
    return this.samples.some((sample) => sample.above && now - sample.at < coolDown)
  }

  private slot(now: number): number {
    return Math.floor(now / this.width)
  }

  private demand(now: number): number {
    const current = this.slot(now)
    // What was before a silence as long as the window is forgotten, and a second that has not been cannot be counted.
    let began = this.asks[0] as number
    this.asks.forEach((slot, i) => {
      if (i > 0 && slot - (this.asks[i - 1] as number) >= this.of.buckets) began = slot
    })
    const lately = Math.max(1, Math.min(LATELY, this.of.buckets - 1, current - began))
    return this.asks.filter((slot) => slot < current && slot >= current - lately).length / (lately * this.width)
  }

  private best(now: number): Stretch | undefined {
    const current = this.slot(now)
    const oldest = current - this.of.buckets + 1
    const found: Stretch[] = []
    for (let newest = current - 1; newest >= oldest; newest--) {
      if (!this.passes.some(({ slot }) => slot === newest)) continue
      const stretch = this.stretch(newest, oldest, current)
      if (stretch !== undefined) found.push(stretch)
    }
    if (found.length === 0) return undefined
    return { rate: Math.max(...found.map(({ rate }) => rate)), mean: Math.min(...found.map(({ mean }) => mean)) }
  }

  private stretch(newest: number, oldest: number, current: number): Stretch | undefined {
    for (let from = newest; from >= oldest; from--) {
      const inside = this.passes.filter(({ slot }) => slot >= from && slot <= newest)
      const span = (newest - from + 1) * this.width
      const mean = inside.reduce((sum, { tookMs }) => sum + tookMs, 0) / inside.length
      if (inside.length < this.of.atLeast) continue
      const isHalf = (current - newest) * 2 <= this.of.buckets
      if (span >= mean || (from === oldest && isHalf)) return { rate: inside.length / span, mean }
    }
    return undefined
  }
}

function atLeastOne(bound: number): number {
  return Math.max(1, Math.ceil(bound - 1e-9))
}
