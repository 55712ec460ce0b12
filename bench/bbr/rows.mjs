// What a bbr gate costs a call: asking it and telling it, with eight calls out. A row is { name, shape, make } as in `hot`.
const IN_FLIGHT = 8
const STEP_MS = 0.01

const decision = (options) => async (floodwall) => {
  const { Bbr, envOf, systemRuntime } = await floodwall()
  const gate = new Bbr(options, { ...envOf(systemRuntime, 'bench'), now: () => 0 })
  const ask = { now: 0, deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
  const out = Array.from({ length: IN_FLIGHT }, () => gate.tryAcquire(ask))
  let i = 0
  return () => {
    i++
    // 100,000 a second: the window turns, the CPU is sampled, and the clock is not read.
    ask.now += STEP_MS
    const at = i & (IN_FLIGHT - 1)
    const ended = out[at]
    if (ended.ok) ended.settle('success', 1, ask.now)
    const answer = gate.tryAcquire(ask)
    out[at] = answer
    return answer
  }
}

/** All eight places taken by calls that do not end: nothing but refusals. */
const refusal = async (floodwall) => {
  const { Bbr, envOf, systemRuntime } = await floodwall()
  const options = { cpu: () => 0.95, startAt: IN_FLIGHT, atLeast: 1e9 }
  const gate = new Bbr(options, { ...envOf(systemRuntime, 'bench'), now: () => 0 })
  const ask = { now: 0, deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
  for (let i = 0; i < IN_FLIGHT; i++) gate.tryAcquire(ask)
  return () => {
    ask.now += STEP_MS
    return gate.tryAcquire(ask)
  }
}

export const rows = [
  { name: 'bbr decision', shape: 'value', make: decision({ cpu: () => 0.5 }) },
  { name: 'bbr decision, on guard', shape: 'value', make: decision({ cpu: () => 0.95 }) },
  { name: 'bbr decision, by a pressure', shape: 'value', make: decision({ cpu: { name: 'cpu', level: () => 0.95 } }) },
  { name: 'bbr refusal', shape: 'value', make: refusal },
]
