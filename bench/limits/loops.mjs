// The loops that are timed, as in method/loops.mjs, with a key for each call. The bare loop draws the same keys in the same order and does not
// look into them. Bare loops are written out, not made by one function, for the reason given there.
import { setImmediate as turn } from 'node:timers/promises'
import { work } from '../method/loops.mjs'

const EVERY = 511

let sink

/** @typedef {{ keys: readonly string[], order: Int32Array, roll: { text: string, length: number } }} Calls */

const bareSync = (/** @type {Calls} */ { keys, order }) => {
  const next = order.length - 1
  let at = 0
  return async (n) => {
    for (let i = 1; i <= n; i++) {
      at = (at + 1) & next
      sink = keys[order[at]]
      if ((i & EVERY) === 0) await turn()
    }
  }
}

const sync = (decide, /** @type {Calls} */ { keys, order }) => {
  const next = order.length - 1
  let at = 0
  return async (n) => {
    for (let i = 1; i <= n; i++) {
      at = (at + 1) & next
      sink = decide(keys[order[at]])
      if ((i & EVERY) === 0) await turn()
    }
  }
}

const bareAwaited = (/** @type {Calls} */ { keys, order }) => {
  const next = order.length - 1
  let at = 0
  return async (n) => {
    for (let i = 1; i <= n; i++) {
      at = (at + 1) & next
      sink = keys[order[at]]
      await work()
      if ((i & EVERY) === 0) await turn()
    }
  }
}

const awaited = (decide, /** @type {Calls} */ { keys, order }) => {
  const next = order.length - 1
  let at = 0
  return async (n) => {
    for (let i = 1; i <= n; i++) {
      at = (at + 1) & next
      sink = await decide(keys[order[at]])
      if ((i & EVERY) === 0) await turn()
    }
  }
}

const bareFresh = (/** @type {Calls} */ { order, roll: { text, length } }) => {
  const next = order.length - 1
  let at = 0
  return async (n) => {
    for (let i = 1; i <= n; i++) {
      at = (at + 1) & next
      const from = order[at] * length
      sink = text.slice(from, from + length)
      if ((i & EVERY) === 0) await turn()
    }
  }
}

const fresh = (decide, /** @type {Calls} */ { order, roll: { text, length } }) => {
  const next = order.length - 1
  let at = 0
  return async (n) => {
    for (let i = 1; i <= n; i++) {
      at = (at + 1) & next
      const from = order[at] * length
      sink = decide(text.slice(from, from + length))
      if ((i & EVERY) === 0) await turn()
    }
  }
}

/** A peer that answers with a promise is awaited, and compared with an await. */
export const shapes = {
  sync: { loop: sync, bare: bareSync },
  awaited: { loop: awaited, bare: bareAwaited },
  fresh: { loop: fresh, bare: bareFresh },
}

export const lastSeen = () => sink // or the compiler may drop what nobody reads
