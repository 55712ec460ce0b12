// What a throttle costs a call: asking it and telling it, with eight calls out. A row is { name, shape, make } as in `hot`.
const IN_FLIGHT = 8
const STEP_MS = 0.01

/** `bad`: one of three calls is accepted. */
const decision = (bad) => async (floodwall) => {
  const { Throttle, envOf, systemRuntime } = await floodwall()
  const gate = new Throttle({}, { ...envOf(systemRuntime, 'bench'), now: () => 0 })
  const ask = { now: 0, deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
  const out = Array.from({ length: IN_FLIGHT }, () => gate.tryAcquire(ask))
  let i = 0
  return () => {
    i++
    // 100,000 a second: the window turns, and the clock is not read.
    ask.now += STEP_MS
    const answer = gate.tryAcquire(ask)
    const at = i & (IN_FLIGHT - 1)
    const ended = out[at]
    if (ended.ok) ended.settle(bad && i % 3 !== 0 ? 'failure' : 'success', 1, ask.now)
    out[at] = answer
    return answer
  }
}

export const rows = [
  { name: 'throttle decision', shape: 'value', make: decision(false) },
  { name: 'throttle decision, while it drops', shape: 'value', make: decision(true) },
]

const classes = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable']

/** Bytes of each of ten thousand. */
export const idleRows = [
  ['idle throttles', []],
  ['idle throttles, used', ['critical']],
  ['idle throttles, used by four classes', classes],
].map(([name, callers]) => ({
  name,
  async make(floodwall) {
    const { Throttle, envOf, systemRuntime } = await floodwall()
    const env = envOf(systemRuntime, 'bench')
    return () => {
      const gate = new Throttle({}, env)
      for (const criticality of callers) {
        gate.tryAcquire({ now: 0, deadline: Infinity, criticality, cost: 1, key: '' }).settle('success', 1, 0)
      }
      return gate
    }
  },
}))
