import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { WindowedMinimum } from '../stats/minimum.ts'
import { BbrCpu } from './bbr-cpu.ts'
import { type BbrOptions, type BbrSettings, bbrOptions, bbrSnapshot } from './bbr-settings.ts'
import { BbrWindow } from './bbr-window.ts'

// The CPU is too busy: may one more come in?
//
// Source: adaptive shedding of kratos (aegis) and go-zero, after the bottleneck bandwidth and round trip of BBR (Cardwell et al., 2016). While the CPU
// is above 80 %, no more may be inside than the best throughput times the least response time, both of the last 5 s. What aegis and go-zero do
// wrong with it, on their own traces, is not repeated: docs/bbr.md has the list.
//
// At best 40 completions in 100 ms, at best 10 ms each: 400 a second times 0.01 s is 4. On guard, the fifth at once is refused.
//
// When a queue stands, all response times have it in them, and the product keeps it for ever: in flight is always throughput times response time.
// Two things against that. While on guard the least time is the least of the last minute: one from before the queue is still known. And each fourth
// part of the time the bound is 3/4 of the product (the gain of BBR's own drain phase), so that a queue gets shorter and the least time with it.
//
// And two against being strict for nothing. The product leaves nobody to take the place of whoever ends, and random arrivals leave it empty: so there
// is the headroom of Envoy's gradient controller, the root of the bound. And 88 % of Poisson load is above 80 % too, and its queues go away by
// themselves: while less is asked for than it has shown it can do, the bound is eight times as wide, and only catches what would last for long.
//
// Invariants: nothing is refused below 1 in flight, nor while the CPU is not too busy, nor without a signal. Inside = admitted - ended.

/** Below this a product is a whole number that was not computed exactly. */
const ROUNDING = 1e-9
/** BBR drains one part in eight. Here the headroom feeds the queue again in the parts between, and each eighth would only just hold it. */
const DRAIN_EACH = 4
/** The least time is kept for so many windows: a minute by default. */
const KEPT_WINDOWS = 12

export class Bbr implements Gate {
  readonly kind = 'bbr'
  readonly path: string
  readonly holds = true
  readonly timed = true
  private readonly env: Env
  private settings: BbrSettings
  private readonly cpu: BbrCpu
  private window: BbrWindow
  /** Least times since it is on guard, and the last one before. */
  private kept: WindowedMinimum
  private inFlight = 0
  private refused = 0
  private wasHot = false
  private warned = false

  constructor(options: BbrOptions = {}, env: Env = envOf(systemRuntime, 'bbr')) {
    this.path = env.path
    this.env = env
    this.settings = parse(bbrOptions, options, 'bbr')
    this.cpu = new BbrCpu(this.settings, env)
    this.window = windowOf(this.settings)
    this.kept = keptOf(this.settings)
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const { now } = ask
    this.window.ask(now)
    const hot = this.cpu.hot(now)
    if (hot !== this.wasHot) this.turned(hot, now)
    else if (!this.warned && !hot) this.warn(now)
    if (hot && this.inFlight > 0) {
      if (this.window.peak > 0) this.kept.record(this.window.leastMs, now)
      const bound = this.boundAt(now)
      if (this.inFlight >= bound) return this.refuse(bound, now)
    }
    this.inFlight++
    return new Permit(this, 0)
  }

  /** How many may be inside while it is on guard; at least 1. */
  private boundAt(now: number): number {
    const { window } = this
    const { startAt, slack, drain, headroom } = this.settings
    if (window.peak === 0) return startAt
    const leastMs = Math.min(window.leastMs, this.kept.value(now) ?? window.leastMs)
    const product = window.peak * leastMs
    const tight = whole(product + headroom * Math.sqrt(product))
    if (slack > 1 && window.demand < window.peak) return Math.floor(tight * slack)
    return drain < 1 && this.drains(leastMs, now) ? whole(product * drain) : tight
  }

  /** A part is as long as two buckets, or two calls: there is a bucket then in which all calls began and ended in it. */
  private drains(leastMs: number, now: number): boolean {
    const partMs = 2 * Math.max(this.window.widthMs, leastMs)
    return Math.floor(now / partMs) % DRAIN_EACH === DRAIN_EACH - 1
  }

  private refuse(bound: number, now: number): Rejection {
    this.refused++
    const { leastMs, widthMs } = this.window
    // It cannot be better before a place is free. Spread, so that those who were refused together do not come back together.
    const wait = Math.max(this.cpu.hotForMs(now), leastMs, widthMs) * (1 + this.env.random())
    return new Rejection(this, 'overloaded', wait, this.inFlight, bound)
  }

  private turned(hot: boolean, now: number): void {
    this.wasHot = hot
    this.kept.clear(now)
    if (hot && this.window.peak > 0) this.kept.record(this.window.leastMs, now)
    const [from, to] = hot ? (['passing', 'guarding'] as const) : (['guarding', 'passing'] as const)
    const why = `the CPU is at ${percent(this.cpu.usage)}`
    this.env.emit({ type: 'state', at: now, path: this.path, from, to, why })
  }

  /** Once: what never refuses looks as if all were well. */
  private warn(now: number): void {
    this.warned = true
    if (this.cpu.source !== undefined) return
    const why = 'nothing tells how busy the CPU is, so nothing is refused: give it the option cpu'
    this.env.emit({ type: 'warning', at: now, path: this.path, why })
  }

  settled(_permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    this.inFlight--
    // What failed may have failed at once, and what timed out took as long as somebody had patience.
    if (verdict === 'success') this.window.pass(tookMs, now)
  }

  cancelled(): void {
    this.inFlight--
  }

  /** Other settings, same calls inside; only another window begins empty. */
  reconfigure(settings: BbrSettings): void {
    const { over, buckets, atLeast } = this.settings
    this.settings = settings
    this.cpu.reconfigure(settings)
    if (over === settings.over && buckets === settings.buckets && atLeast === settings.atLeast) return
    this.window = windowOf(settings)
    this.kept = keptOf(settings)
  }

  explain({ value, limit }: Rejection): string {
    return `${value} calls are inside, and with the CPU at ${percent(this.cpu.usage)} ${limit} may be`
  }

  idle(now: number): boolean {
    this.window.look(now)
    return this.inFlight === 0 && this.window.empty && !this.cpu.wasHot(now)
  }

  inspect(now: number): Snapshot {
    const { kind, path, window, cpu, inFlight, refused } = this
    window.look(now)
    const known = window.peak > 0
    const sampled = !Number.isNaN(cpu.usage)
    return {
      kind,
      path,
      hot: cpu.wasHot(now),
      cpu: sampled ? cpu.usage : null,
      ageMs: sampled ? Math.max(0, now - cpu.at) : null,
      inFlight,
      bound: this.boundAt(now),
      peak: known ? window.peak * 1000 : null,
      leastMs: known ? window.leastMs : null,
      demand: window.demand * 1000,
      refused,
    }
  }
}

/** A part of a call is a call. */
function whole(bound: number): number {
  return Math.max(1, Math.ceil(bound - ROUNDING))
}

function windowOf({ over, buckets, atLeast }: BbrSettings): BbrWindow {
  return new BbrWindow(over, buckets, atLeast)
}

function keptOf({ over }: BbrSettings): WindowedMinimum {
  return new WindowedMinimum(over * KEPT_WINDOWS, KEPT_WINDOWS)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/**
 * While the CPU is too busy, no more calls inside than the best throughput times the least response time. Success is a measurement; what else
 * came of a call is none. Put it outermost in a server's pipeline; most services are better off with `overload`.
 */
export const bbr: Kind<BbrOptions, BbrSettings> = kindOf({
  kind: 'bbr',
  options: bbrOptions,
  snapshot: bbrSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Bbr)) return new Bbr(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
