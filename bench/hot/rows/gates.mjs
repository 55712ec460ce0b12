// The bare gate, without a pipeline and without a promise: one decision and its end.
import { performance } from 'node:perf_hooks'

const options = { failureRate: 0.5, over: '10s', atLeast: 20 }
const IN_FLIGHT = 8

/** A few permits are always out: one that never leaves the loop would be optimised away. */
async function ring(floodwall) {
  const { Breaker } = await floodwall()
  const gate = new Breaker(options)
  const ask = { now: performance.now(), deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
  const permits = Array.from({ length: IN_FLIGHT }, () => gate.tryAcquire(ask))
  return { gate, ask, permits }
}

export const gates = [
  {
    name: 'gate decision',
    shape: 'value',
    async make(floodwall) {
      const { gate, ask, permits } = await ring(floodwall)
      const { now } = ask
      let i = 0
      return () => {
        const permit = gate.tryAcquire(ask)
        i = (i + 1) & (IN_FLIGHT - 1)
        permits[i].settle('success', 1, now)
        permits[i] = permit
        return permit
      }
    },
  },
  {
    // As a gate that judges latency is used: a precise reading when it is asked and one when it is told.
    name: 'gate decision, clock',
    shape: 'value',
    async make(floodwall) {
      const { gate, ask, permits } = await ring(floodwall)
      const clock = performance.now.bind(performance)
      const began = new Float64Array(IN_FLIGHT)
      let i = 0
      return () => {
        ask.now = clock()
        const permit = gate.tryAcquire(ask)
        const now = clock()
        i = (i + 1) & (IN_FLIGHT - 1)
        permits[i].settle('success', now - began[i], now)
        permits[i] = permit
        began[i] = ask.now
        return permit
      }
    },
  },
]
