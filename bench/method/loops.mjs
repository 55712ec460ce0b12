// The loops that are timed. The event loop turns every 512 calls, as it does in a server: a chain of microtasks alone
// would starve timers and never end a turn, and a library that reads its clock once per turn would look free.
//
// The bare loops are written out, not made by the functions below: a loop that serves two kinds of call in one process
// is compiled for both, and neither would be measured as itself.
import { setImmediate as turn } from 'node:timers/promises'

const EVERY = 511

const resolved = Promise.resolve(1)
const rejected = Promise.reject(new Error('refused'))
rejected.catch(() => {})

/** The bare work: what every wrapped call does too. */
export const work = () => resolved
export const refuse = () => rejected

let sink

export async function bareAwaited(n) {
  for (let i = 1; i <= n; i++) {
    await work()
    if ((i & EVERY) === 0) await turn()
  }
}

export async function bareCaught(n) {
  for (let i = 1; i <= n; i++) {
    try {
      await refuse()
    } catch (error) {
      sink = error
    }
    if ((i & EVERY) === 0) await turn()
  }
}

let take
const capture = (resolve) => {
  take = resolve
}

/** A caller who can be freed before the work ends: a promise of its own, settled by whoever is first. */
export function race() {
  const promise = new Promise(capture)
  const resolve = take
  let open = true
  const settle = (value) => {
    if (!open) return
    open = false
    resolve(value)
  }
  work().then(settle, settle)
  return promise
}

export async function bareRaced(n) {
  for (let i = 1; i <= n; i++) {
    await race()
    if ((i & EVERY) === 0) await turn()
  }
}

export async function bareValue(n) {
  for (let i = 1; i <= n; i++) {
    sink = i
    if ((i & EVERY) === 0) await turn()
  }
}

export const awaited = (op) => async (n) => {
  for (let i = 1; i <= n; i++) {
    await op()
    if ((i & EVERY) === 0) await turn()
  }
}

export const caught = (op) => async (n) => {
  for (let i = 1; i <= n; i++) {
    try {
      await op()
    } catch (error) {
      sink = error
    }
    if ((i & EVERY) === 0) await turn()
  }
}

export const value = (op) => async (n) => {
  for (let i = 1; i <= n; i++) {
    sink = op()
    if ((i & EVERY) === 0) await turn()
  }
}

/** How a row is called, and what it is compared with. A value is timed against the awaited call, but allocates no promise. */
export const shapes = {
  awaited: { loop: awaited, bare: bareAwaited, bareBytes: bareAwaited, bareCall: work },
  raced: { loop: awaited, bare: bareRaced, bareBytes: bareRaced, bareCall: race },
  caught: { loop: caught, bare: bareCaught, bareBytes: bareCaught, bareCall: refuse },
  value: { loop: value, bare: bareAwaited, bareBytes: bareValue, bareCall: undefined },
}

export const lastSeen = () => sink // or the compiler may drop what nobody reads
