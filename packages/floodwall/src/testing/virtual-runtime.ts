import { type Ambient, switchedOff } from '../core/ambient.ts'
import { type Duration, toMs } from '../core/duration.ts'
import type { FloodEvent } from '../core/event.ts'
import { type Env, envOf, type Runtime } from '../core/runtime.ts'
import { systemRuntime, turnOver } from '../core/system.ts'
import { Agenda, type Happening } from './agenda.ts'
import { seeded } from './random.ts'

/** What `after` set: its function until it has fired or was cancelled. */
class Timer implements Happening {
  fn: (() => void) | null

  constructor(fn: () => void) {
    this.fn = fn
  }

  happen(): void {
    const { fn } = this
    this.fn = null
    fn?.()
  }
}

/**
 * A world in which time passes when you say so. Same seed, same history.
 * `advance` is synchronous and sound for everything that runs without promises (`pipeline.start`); `advanceAsync` lets every promise
 * reaction run between two timers and is for everything else.
 */
export class VirtualRuntime implements Runtime {
  readonly now: () => number
  readonly precise: () => number
  readonly random: () => number
  readonly emit: (event: FloodEvent) => void
  readonly after: (ms: number, fn: () => void) => () => void
  readonly soon: (fn: () => void) => void
  readonly bind: (fn: () => void) => () => void
  /** Off; `ambient(world)` turns it on, and timers then keep the context in which they were set, as Node's do. */
  readonly ambient: Ambient = switchedOff()
  /** Everything that was emitted, oldest first. */
  readonly events: FloodEvent[] = []
  /** @internal What is due, in order. What the simulator adds to it is no timer, and is never cancelled. */
  readonly agenda: Agenda = new Agenda()
  private time: number
  private chores: (() => void)[] = []
  /** The list that {@link chores} takes turns with: a new one for each turn would be garbage for each call. */
  private spare: (() => void)[] = []
  private live = 0

  constructor(options: { readonly seed?: number; readonly startAt?: number } = {}) {
    this.time = options.startAt ?? 0
    this.now = () => this.time
    this.precise = this.now
    this.random = seeded(options.seed ?? 1)
    this.emit = (event) => void this.events.push(event)
    this.soon = (fn) => void this.chores.push(fn)
    this.bind = (fn) => (this.ambient.on === null ? fn : systemRuntime.bind(fn))
    this.after = (ms, fn) => this.schedule(ms, this.bind(fn))
  }

  /** An {@link Env} on this world, for gates that are built bare. */
  env(path = 'test'): Env {
    return envOf(this, path)
  }

  /** Timers that have neither fired nor been cancelled: 0 when nothing is left behind. */
  get timers(): number {
    this.tidy()
    return this.live
  }

  /** Lets `span` pass; timers fire in order, each at its time. */
  advance(span: Duration): void {
    this.passTo(this.endOf(span))
  }

  /** @internal The same, until the clock says `end`: a sum of spans would miss it by a rounding. */
  passTo(end: number): void {
    this.tidy()
    while (this.step(end));
    this.time = end
  }

  /** The same; between two timers all promise reactions run. */
  async advanceAsync(span: Duration): Promise<void> {
    const end = this.endOf(span)
    await this.settle()
    for (let due = this.due(end); due !== undefined; due = this.due(end)) {
      this.fire(due)
      await this.settle()
    }
    this.time = end
  }

  /** @internal The next thing that is due until `end`, and its chores; false when there is none. */
  step(end: number): boolean {
    const due = this.due(end)
    if (due === undefined) return false
    this.fire(due)
    this.tidy()
    return true
  }

  private endOf(span: Duration): number {
    const ms = toMs(span)
    // NaN would let every timer fire, and then stand still for ever.
    if (Number.isNaN(ms)) throw new RangeError(`VirtualRuntime: expected a span such as 250 or "1.5s", got ${span}`)
    return this.time + ms
  }

  /** Runs every promise reaction that is due, without letting time pass. */
  async settle(): Promise<void> {
    do {
      this.tidy()
      await turnOver()
    } while (this.chores.length > 0)
  }

  /** Lets time pass until no timer is left. */
  run(): void {
    this.tidy()
    while (this.step(Number.POSITIVE_INFINITY));
  }

  private tidy(): void {
    while (this.chores.length > 0) {
      const { chores } = this
      this.chores = this.spare
      for (const chore of chores) chore()
      chores.length = 0
      this.spare = chores
    }
  }

  private schedule(ms: number, fn: () => void): () => void {
    const timer = new Timer(fn)
    this.live++
    this.agenda.add(this.time + (ms > 0 ? ms : 0), timer)
    return () => {
      if (timer.fn === null) return
      timer.fn = null
      this.live--
    }
  }

  /** The next that is due at or before `end`, taken out; what was cancelled does not move time. */
  private due(end: number): Happening | undefined {
    const { agenda } = this
    while (!agenda.empty && agenda.nextAt <= end) {
      const at = agenda.nextAt
      const due = agenda.take()
      if (due instanceof Timer && due.fn === null) continue
      if (at > this.time) this.time = at
      return due
    }
    return undefined
  }

  private fire(due: Happening): void {
    if (due instanceof Timer) this.live--
    due.happen()
  }
}
