import { type Duration, toMs } from '../core/duration.ts'
import type { FloodEvent } from '../core/event.ts'
import { type Env, envOf, type Runtime } from '../core/runtime.ts'
import { turnOver } from '../core/system.ts'
import { seeded } from './random.ts'

interface Timer {
  readonly at: number
  readonly serial: number
  fn: (() => void) | null
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
  /** Everything that was emitted, oldest first. */
  readonly events: FloodEvent[] = []
  private time: number
  private serial = 0
  private readonly heap: Timer[] = []
  private chores: (() => void)[] = []
  private live = 0

  constructor(options: { readonly seed?: number; readonly startAt?: number } = {}) {
    this.time = options.startAt ?? 0
    this.now = () => this.time
    this.precise = this.now
    this.random = seeded(options.seed ?? 1)
    this.emit = (event) => void this.events.push(event)
    this.soon = (fn) => void this.chores.push(fn)
    this.bind = (fn) => fn
    this.after = (ms, fn) => this.schedule(ms, fn)
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
    const end = this.endOf(span)
    this.tidy()
    for (let timer = this.due(end); timer !== undefined; timer = this.due(end)) {
      this.fire(timer)
      this.tidy()
    }
    this.time = end
  }

  /** The same; between two timers all promise reactions run. */
  async advanceAsync(span: Duration): Promise<void> {
    const end = this.endOf(span)
    await this.settle()
    for (let timer = this.due(end); timer !== undefined; timer = this.due(end)) {
      this.fire(timer)
      await this.settle()
    }
    this.time = end
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
    for (;;) {
      this.tidy()
      const timer = this.due(Number.POSITIVE_INFINITY)
      if (timer === undefined) return
      this.fire(timer)
    }
  }

  private tidy(): void {
    while (this.chores.length > 0) {
      const chores = this.chores
      this.chores = []
      for (const chore of chores) chore()
    }
  }

  private schedule(ms: number, fn: () => void): () => void {
    const timer: Timer = { at: this.time + (ms > 0 ? ms : 0), serial: this.serial++, fn }
    this.live++
    this.push(timer)
    return () => {
      if (timer.fn === null) return
      timer.fn = null
      this.live--
    }
  }

  /** The next timer at or before `end`, taken out of the heap. */
  private due(end: number): Timer | undefined {
    while (this.heap.length > 0) {
      const next = this.heap[0] as Timer
      if (next.fn !== null && next.at > end) return undefined
      this.pop()
      if (next.fn !== null) return next
    }
    return undefined
  }

  private fire(timer: Timer): void {
    const { fn } = timer
    timer.fn = null
    this.live--
    if (timer.at > this.time) this.time = timer.at
    fn?.()
  }

  private push(timer: Timer): void {
    const { heap } = this
    let at = heap.length
    heap.push(timer)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!earlier(timer, heap[parent] as Timer)) break
      heap[at] = heap[parent] as Timer
      at = parent
    }
    heap[at] = timer
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop() as Timer
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && earlier(heap[child + 1] as Timer, heap[child] as Timer)) child++
      if (!earlier(heap[child] as Timer, last)) break
      heap[at] = heap[child] as Timer
      at = child
    }
    heap[at] = last
  }
}

/** At the same time, the one that was set first. */
function earlier(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.serial < b.serial)
}
