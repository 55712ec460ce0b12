// The same decision by others, each as its own middleware makes it, without a server around it. All read a clock for each call, and no limit is
// reached. What answers with a promise is awaited.
import { work } from '../method/loops.mjs'

const MOST = 1e9
const HOUR_MS = 3_600_000

/** What each key gets when there is one object for each. */
const byKey = (make) => {
  const all = new Map()
  return (key) => {
    let one = all.get(key)
    if (one === undefined) all.set(key, (one = make()))
    return one
  }
}

const tokens = async () => {
  const { RateLimiter } = await import('limiter')
  return () => new RateLimiter({ tokensPerInterval: MOST, interval: 'hour' })
}

const reservoir = { reservoir: MOST, reservoirRefreshAmount: MOST, reservoirRefreshInterval: HOUR_MS }

export const flexible = {
  name: 'rate-limiter-flexible',
  shape: 'awaited',
  async make() {
    const { RateLimiterMemory } = await import('rate-limiter-flexible')
    const limiter = new RateLimiterMemory({ points: MOST, duration: HOUR_MS / 1000 })
    return (key) => limiter.consume(key)
  },
}

export const express = {
  name: 'express-rate-limit',
  shape: 'awaited',
  async make() {
    const { MemoryStore } = await import('express-rate-limit')
    const store = new MemoryStore()
    store.init(/** @type {any} */ ({ windowMs: HOUR_MS }))
    return (key) => store.increment(key)
  },
}

export const fastify = {
  name: '@fastify/rate-limit',
  shape: 'sync',
  async make(_library, count) {
    // Its plugin makes one of these; it is no part of what the package says that it exports.
    const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js')
    const store = new LocalStore(false, false, count)
    let seen
    const told = (_error, { current }) => {
      seen = current
    }
    return (key) => {
      store.incr(key, told, HOUR_MS, MOST)
      return seen
    }
  },
}

/** Of one key; with more there is a Map of them, since it knows no keys. */
export const limiter = {
  name: 'limiter',
  shape: 'sync',
  async make(_library, count) {
    const make = await tokens()
    if (count > 1) {
      const of = byKey(make)
      return (key) => of(key).tryRemoveTokens(1)
    }
    const one = make()
    return () => one.tryRemoveTokens(1)
  },
}

/** It has no question that takes: work is handed over, and runs when it may. */
export const bottleneck = {
  name: 'bottleneck',
  shape: 'crowd',
  async make(_library, count) {
    const { default: Bottleneck } = await import('bottleneck')
    if (count > 1) {
      const group = new Bottleneck.Group(reservoir)
      return (key) => group.key(key).schedule(work)
    }
    const one = new Bottleneck(reservoir)
    return () => one.schedule(work)
  },
}
