import type { Call } from './call.ts'
import type { Init, Run } from './init.ts'
import type { Done } from './policy.ts'

// On whose behalf is this call made, when nobody passes the call along?
//
// One switch for each runtime, off until somebody turns it on: what keeps the call (an AsyncLocalStorage) makes every later `await` of the
// process dearer, and a program that passes `parent` has no use for it. Off, it costs one load and a comparison for each call.

/** Keeps the innermost call for all that its work does, now and later. */
export interface AmbientStore {
  /** The call in whose work we are. */
  current(): Call | undefined
  /** `work(call, done)`, with `call` the current one in all that it does. */
  run(call: Call, work: Run, done: Done | undefined): unknown
}

/** The switch of a runtime: a box, so that pipelines which exist already hear of it. */
export interface Ambient {
  on: AmbientStore | null
  /** How many have turned it on and not off again. */
  holders: number
}

/** A switch that nobody has touched. */
export function switchedOff(): Ambient {
  return { on: null, holders: 0 }
}

/**
 * `init`, as said on behalf of the current call. A parent that was named wins. Work that has ended is nobody's parent any more: a timer or a
 * connection that it left behind would otherwise be refused for ever, for a deadline that is long past.
 */
export function onBehalf(init: Init, store: AmbientStore): Init {
  if (init.parent != null) return init
  const parent = store.current()
  return parent === undefined || !parent.running ? init : { ...init, parent }
}
