// Traffic for the pictures: real pipelines in a world whose time passes at once.
import { answered, failed } from 'floodwall'

/** @typedef {import('floodwall/testing').VirtualRuntime} World */
/** @typedef {import('floodwall').Next} Next */

/**
 * Calls `fn` at even distances, `perSecond` times a second, from `fromMs` and before `toMs`.
 *
 * @param {World} world
 * @param {number} perSecond
 * @param {number} fromMs
 * @param {number} toMs
 * @param {(serial: number) => void} fn
 */
export function evenly(world, perSecond, fromMs, toMs, fn) {
  const total = Math.round(((toMs - fromMs) * perSecond) / 1000)
  for (let i = 0; i < total; i++) world.after(fromMs + (i * 1000) / perSecond - world.now(), () => fn(i))
}

/**
 * Calls `fn` at random distances, `perSecond(now)` times a second on average, until `toMs`.
 *
 * @param {World} world
 * @param {(now: number) => number} perSecond
 * @param {number} toMs
 * @param {() => void} fn
 */
export function atRandom(world, perSecond, toMs, fn) {
  const next = () => {
    const wait = (2 * 1000 * world.random()) / perSecond(world.now())
    if (world.now() + wait >= toMs) return
    world.after(wait, () => {
      fn()
      next()
    })
  }
  next()
}

/**
 * Work that answers after `afterMs(now)` milliseconds, or fails when `broken(now)`.
 *
 * @param {World} world
 * @param {(now: number) => number} afterMs
 * @param {(now: number) => boolean} [broken]
 * @returns {Next}
 */
export function work(world, afterMs, broken = () => false) {
  return (_, done) => {
    const bad = broken(world.now())
    world.after(afterMs(world.now()), () => done(bad ? failed(new Error('down')) : answered('up')))
  }
}

/**
 * Counts per span of time: what became of calls, second by second.
 *
 * @template {string} K
 */
export class Tally {
  /** @readonly @private @type {Map<number, Map<K, number>>} */ spans = new Map()
  /** @readonly @private */ spanMs

  /** @param {number} spanMs */
  constructor(spanMs) {
    this.spanMs = spanMs
  }

  /**
   * @param {K} what
   * @param {number} at
   */
  add(what, at) {
    const span = Math.floor(at / this.spanMs)
    const row = this.spans.get(span) ?? new Map()
    row.set(what, (row.get(what) ?? 0) + 1)
    this.spans.set(span, row)
  }

  /**
   * @param {K} what
   * @param {number} span
   */
  of(what, span) {
    return this.spans.get(span)?.get(what) ?? 0
  }
}

/**
 * What became of a call, in the words of the pictures.
 *
 * @param {import('floodwall').Outcome<unknown>} outcome
 * @returns {'answered' | 'failed' | 'refused'}
 */
export function fateOf(outcome) {
  if (outcome.rejection !== undefined) return 'refused'
  return outcome.ok ? 'answered' : 'failed'
}
