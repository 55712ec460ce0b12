import type { Pipeline, Snapshot } from 'floodwall'
import type { VirtualRuntime } from 'floodwall/testing'

// What every test of a pipeline looks at: what has become of the calls, and what is left of them.

/** What has become of a promise so far. */
export interface Fate {
  state: 'pending' | 'answered' | 'failed'
  /** The answer or the error, by identity. */
  value: unknown
  /** When, on the world's clock; -1 while pending. */
  at: number
}

/** Follows a promise; its rejection counts as handled. */
export function fateOf(promise: PromiseLike<unknown>, world: { now(): number } = { now: () => 0 }): Fate {
  const fate: Fate = { state: 'pending', value: undefined, at: -1 }
  const become = (state: Fate['state']) => (value: unknown) => {
    fate.state = state
    fate.value = value
    fate.at = world.now()
  }
  promise.then(become('answered'), become('failed'))
  return fate
}

/** The code of the error that a call failed with: 'full', 'timeout'; else what it is instead. */
export function codeOf(fate: Fate): unknown {
  if (fate.state !== 'failed') return fate.state
  return (fate.value as { code?: unknown } | undefined)?.code ?? fate.value
}

/** The snapshot of the layer in place `path`, for example 'bulkhead' or 'bulkhead-2'. */
export function layerOf(of: Pipeline, path: string): Snapshot {
  const layers = of.inspect()['layers'] as Snapshot[]
  const found = layers.find((layer) => layer['path'] === `${of.path}/${path}`)
  if (found === undefined) throw new Error(`${of.path} has no layer ${path}`)
  return found
}

/** What is left behind: 0 of everything when all calls are over. */
export interface Left {
  timers: number
  running: number
  /** Slots taken, in all bulkheads. */
  used: number
  /** Calls in queues and backoffs. */
  waiting: number
  /** Probes out, in all breakers. */
  probing: number
}

export const NOTHING: Left = { timers: 0, running: 0, used: 0, waiting: 0, probing: 0 }

/** Counts what is left in `world` and in `pipelines`. */
export function leftIn(world: VirtualRuntime | undefined, ...pipelines: readonly Pipeline[]): Left {
  const left: Left = { ...NOTHING, timers: world?.timers ?? 0 }
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const snapshot = value as Record<string, unknown>
    if (snapshot['kind'] === 'pipeline') left.running += snapshot['running'] as number
    if (snapshot['kind'] === 'bulkhead') left.used += snapshot['used'] as number
    if (snapshot['kind'] === 'queue' || snapshot['kind'] === 'retry') left.waiting += snapshot['waiting'] as number
    if (snapshot['kind'] === 'breaker') left.probing += (snapshot['probes'] as { running: number }).running
    for (const inner of Object.values(snapshot)) look(inner)
  }
  for (const one of pipelines) look(one.inspect())
  return left
}

/** Work that never ends, and does not hear its signal. */
export const hangs = (): Promise<never> => new Promise(() => {})

/** Work that ends `ms` from now with `value`, and does not hear its signal. */
export const takes =
  <T>(world: VirtualRuntime, ms: number, value: T) =>
  (): Promise<T> =>
    new Promise((resolve) => void world.after(ms, () => resolve(value)))

/** Work that fails `ms` from now with `error`, and does not hear its signal. */
export const failsAfter = (world: VirtualRuntime, ms: number, error: unknown) => (): Promise<never> =>
  new Promise((_, reject) => void world.after(ms, () => reject(error)))
