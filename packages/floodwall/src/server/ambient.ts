import { AsyncLocalStorage } from 'node:async_hooks'
import type { Ambient, AmbientStore } from '../core/ambient.ts'
import type { Call } from '../core/call.ts'
import type { Run } from '../core/init.ts'
import type { Done } from '../core/policy.ts'
import { systemRuntime } from '../core/system.ts'

// How do calls three functions deep learn on whose behalf they are made, when nobody passes the call along?
//
// Node carries a value along whatever an async function does: promises, timers, microtasks. Two things lose it, there as here: a listener runs
// in the context of what emits, and a pool that calls back runs in the context of its own loop.

/** Node's own way to carry a value along. */
class LocalStore implements AmbientStore {
  private readonly storage = new AsyncLocalStorage<Call>()

  current(): Call | undefined {
    return this.storage.getStore()
  }

  run(call: Call, work: Run, done: Done | undefined): unknown {
    return this.storage.run(call, work, call, done as Done)
  }
}

/**
 * Turns the ambient context of a runtime on, for all its pipelines: a call made in the work of another one is made on its behalf, and has its
 * deadline, its criticality and its abort, unless it names another `parent`. Several may turn it on; it is off when each of them has disposed
 * of what is returned. Costs 2 to 3 times as much for each `await` of the process on Node 20, far less on 24. Default: the real runtime.
 */
export function ambient(runtime: { readonly ambient?: Ambient } = systemRuntime): Disposable {
  const { ambient: box } = runtime
  if (box === undefined) throw new TypeError('expected a runtime with a switch for the ambient context')
  box.holders++
  box.on ??= new LocalStore()
  let held = true
  return {
    [Symbol.dispose]: () => {
      if (!held) return
      held = false
      if (--box.holders === 0) box.on = null
    },
  }
}

/** The call in whose work we are; undefined outside of any, and while the ambient context is off. */
export function currentCall(runtime: { readonly ambient?: Ambient } = systemRuntime): Call | undefined {
  return runtime.ambient?.on?.current()
}
