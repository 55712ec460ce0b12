import type { Pressure } from '../../algorithms/admission/pressure.ts'
import type { Ambient } from '../../core/ambient.ts'
import type { Runtime } from '../../core/runtime.ts'
import { QueueDelay } from '../queue-delay.ts'
import { Readings } from './readings.ts'
import type { Signal, SignalView } from './signal.ts'
import { processSources, type Sources } from './sources.ts'

// How is this process, and who looks?
//
// One look each 250 ms while requests come, and none while nothing happens: a server that idles is not woken. Whoever asks for a level reads anew when
// the last look is older than that, so that nothing is ever decided on old numbers. A timer that comes late has been kept waiting by whatever
// blocked the loop; one that should have come and has not is late by now.
//
// Invariant: one timer at most, however many look on; none, no observer and no open file when nobody does.

/** So often there is a look while requests come. */
const PERIOD_MS = 250
/** Two looks that are nearer than this are one: shares of a few milliseconds are noise. */
const NEAREST_MS = 100
/** So many looks at a process that nobody asks anything, and they end. */
const QUIET = 4

/** Told after each look; true: look again, although no requests come. */
export type Onlooker = (now: number, elapsedMs: number) => boolean

export class Signals {
  readonly readings: Readings
  /** From arrival to the start of the handler. */
  readonly queueDelay: QueueDelay
  /** The loop, the CPU or the quota, whichever is used most: 0 idle, 1 all of it. For gates that go by use, as `bbr` does. */
  readonly busy: Pressure
  /** @internal */ readonly sources: Sources
  private readonly runtime: Pick<Runtime, 'precise' | 'after' | 'soon'>
  private readonly onlookers = new Set<Onlooker>()
  private holders = 0
  private cancelTick: (() => void) | null = null
  private dueAt = Number.NaN
  private at = Number.NEGATIVE_INFINITY
  private touched = false
  private quiet = 0

  constructor(runtime: Pick<Runtime, 'precise' | 'after' | 'soon'>, sources: Sources = processSources) {
    this.runtime = runtime
    this.sources = sources
    this.readings = new Readings(sources, this.refresh, this.overdue)
    this.queueDelay = new QueueDelay(runtime, sources)
    const { loop, cpu, quota } = this.readings
    // Not their levels, which begin where use is nearly full.
    this.busy = {
      name: 'cpu',
      level: (now) => {
        this.refresh(now)
        return Math.min(1, Math.max(loop.value ?? 0, cpu.value ?? 0, quota.value ?? 0))
      },
    }
  }

  /** All of them, worst use first: what says that there is too much to do, and then why. */
  get all(): readonly Signal[] {
    return [this.queueDelay.signal, ...this.readings.all]
  }

  /**
   * What may refuse besides the queue: memory that comes to its end, and collections that take over. The others are at their worst when a server
   * is at its best: a loop, a core or a quota that is used to the full is no reason to refuse anybody, and when it is too much the queue
   * says so.
   */
  get pressures(): readonly Signal[] {
    const { heap, memory, gc } = this.readings
    return [heap, memory, gc]
  }

  /** Somebody looks; the last one to leave closes everything. */
  hold(): () => void {
    this.holders++
    let held = true
    return () => {
      if (!held) return
      held = false
      if (--this.holders === 0) this.close()
    }
  }

  /** Calls `onlooker` after each look, until the returned function is called. */
  on(onlooker: Onlooker): () => void {
    this.onlookers.add(onlooker)
    return () => void this.onlookers.delete(onlooker)
  }

  /** A request has come. */
  touch(): void {
    this.touched = true
    if (this.cancelTick !== null || this.holders === 0) return
    // What happened since the last look was rest: from here on it is counted anew.
    this.look(this.runtime.precise())
    this.arm()
  }

  inspect(now: number): Record<string, SignalView> {
    return Object.fromEntries(this.all.map((signal) => [signal.name, signal.inspect(now)]))
  }

  private look(now: number): void {
    const elapsed = now - this.at
    if (elapsed < NEAREST_MS) return
    this.at = now
    this.readings.sample(now)
    for (const onlooker of this.onlookers) if (onlooker(now, elapsed)) this.touched = true
  }

  private arm(): void {
    this.dueAt = this.runtime.precise() + PERIOD_MS
    this.cancelTick = this.runtime.after(PERIOD_MS, this.tick, true)
  }

  private readonly tick = (): void => {
    const now = this.runtime.precise()
    // Timers of Node are whole milliseconds, and may come a part of one early.
    this.readings.lateness.set(Math.max(0, now - this.dueAt), now)
    this.cancelTick = null
    this.look(now)
    this.quiet = this.touched ? 0 : this.quiet + 1
    this.touched = false
    if (this.quiet < QUIET) this.arm()
    else this.quiet = 0
  }

  private readonly refresh = (now: number): void => {
    if (this.holders > 0 && now - this.at >= PERIOD_MS) this.look(now)
  }

  private readonly overdue = (now: number): void => {
    const { lateness } = this.readings
    if (this.cancelTick === null) {
      // Nobody waits for a timer: nothing is known to be blocked.
      lateness.set(0, now)
      return
    }
    const late = now - this.dueAt
    if (late > (lateness.value ?? 0)) lateness.set(late, now)
  }

  private close(): void {
    this.cancelTick?.()
    this.cancelTick = null
    this.at = Number.NEGATIVE_INFINITY
    this.touched = false
    this.quiet = 0
    this.readings.close()
  }
}

const SIGNALS: unique symbol = Symbol('floodwall.signals') as never

/** The signals of a runtime: one look for all edges and layers on it. They hang on its switch, which is what its copies have in common. */
export function signalsOf(runtime: Runtime & { readonly ambient: Ambient }): Signals {
  const box: { [SIGNALS]?: Signals } = runtime.ambient as object
  box[SIGNALS] ??= new Signals(runtime)
  return box[SIGNALS]
}
