import { type Ambient, switchedOff } from './ambient.ts'
import type { FloodEvent } from './event.ts'

/**
 * The only doors to the world. Algorithms, gates and policies see time, chance and timers through these and nothing else, so that the
 * same objects run in production, in tests and in the simulator. The functions do not use `this`: they are copied into each {@link Env},
 * which saves a hop on every clock read.
 */
export interface Runtime {
  /** Monotonic milliseconds, cheap: at most one true read per turn of the event loop and per 64 uses. For windows, buckets, deadlines. */
  readonly now: () => number
  /** Monotonic milliseconds, read now (about 40 ns). Only for latency that a layer has asked for. */
  readonly precise: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Publishes a change. Never throws, never waits. */
  readonly emit: (event: FloodEvent) => void
  /**
   * Calls `fn` once, `ms` from now (spans beyond 2^31 ms are fine); returns its cancel. The process stays alive until then, unless nobody
   * waits for it (`background`).
   */
  readonly after: (ms: number, fn: () => void, background?: boolean) => () => void
  /** Calls `fn` once, when the present turn of the event loop is over. For tidying up; it does not keep the process alive. */
  readonly soon: (fn: () => void) => void
  /** `fn`, bound to the async context (AsyncLocalStorage) of the caller: who waits in a room resumes in his own context. */
  readonly bind: (fn: () => void) => () => void
  /** The switch of the ambient context; a runtime without one keeps it off. */
  readonly ambient?: Ambient
}

/** What a layer is built with: the runtime, where it stands, and what it shares with others. */
export interface Env extends Runtime {
  /** Where in the house: `'inventory/breaker'`. Names the gate in refusals, events and snapshots. */
  readonly path: string
  readonly ambient: Ambient
  /** The object called `name`, made on first use: how layers of several pipelines meet in one gate, cluster or quota. */
  share<T>(name: string, make: () => T): T
}

/** Objects that several pipelines share, by name. One per process or per registry; there is no global one. */
export type Shared = Map<string, unknown>

/** An {@link Env} for `path` on `runtime`. Gates that are used bare get one of their own. */
export function envOf(runtime: Runtime, path: string, shared?: Shared): Env {
  // Made when somebody shares: ten thousand bare gates have no use for ten thousand maps.
  let names = shared
  return {
    now: runtime.now,
    precise: runtime.precise,
    random: runtime.random,
    emit: runtime.emit,
    after: runtime.after,
    soon: runtime.soon,
    bind: runtime.bind,
    ambient: runtime.ambient ?? switchedOff(),
    path,
    share<T>(name: string, make: () => T): T {
      names ??= new Map()
      if (!names.has(name)) names.set(name, make())
      return names.get(name) as T
    },
  }
}
