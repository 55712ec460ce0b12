// node --import keep-ticks.mjs ...: keeps process.nextTick as fast as it is at the start. V8 forgets the shape of node's ticks when a full
// collection finds none alive, and from then on each costs 500 ns in place of 120: a process either has met such a collection or has not,
// which is luck in a run of minutes and certain in one of hours. The gateway keeps a tick (gateway/tick-shape.ts), the bare proxy does not.
import { executionAsyncResource } from 'node:async_hooks'

process.nextTick(() => {
  globalThis.keptTick = { tick: executionAsyncResource() }
})
