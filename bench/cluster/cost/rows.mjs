// What it costs to choose an endpoint for a call and to hear how it ended. A row is { name, shape, make } as in
// `hot`.
const pickers = {
  powerOfChoices: 'two choices',
  leastLoaded: 'least loaded',
  random: 'random',
  roundRobin: 'round robin',
  weighted: 'weighted',
  consistentHash: 'consistent hash',
}
const DEFAULT = 'powerOfChoices'
const sizes = [100, 10_000]

/** Calls are always out, and end in another order than they began: what a cluster of a busy client looks like. */
const IN_FLIGHT = 64
/** Latencies to tell, a few more than the calls that are out, so that they do not fall into step. */
const LATENCIES = 61

const latencies = Float64Array.from({ length: LATENCIES }, (_, i) => 8 + ((i * 37) % LATENCIES) / 2)
/** Whose the calls are: keys for the consistent hash. */
const keys = Array.from({ length: 1024 }, (_, i) => `user-${i}`)

const never = () => false

function clusterOf({ Cluster, envOf, systemRuntime }, size, picker) {
  const cluster = new Cluster({ picker, slowStart: 0 }, envOf(systemRuntime, 'bench'))
  cluster.update(Array.from({ length: size }, (_, i) => ({ id: `endpoint-${i}` })))
  return cluster
}

/** Without a pipeline: place, the endpoint's two gates (its breaker, its slots), and later both ends. */
const bare = (size, picker) => async (floodwall) => {
  const library = await floodwall()
  const { systemRuntime } = library
  const cluster = clusterOf(library, size, picker)
  const ask = { now: systemRuntime.now(), deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
  const out = Array.from({ length: IN_FLIGHT }, () => null)
  let i = 0
  return () => {
    i++
    ask.now = systemRuntime.now()
    ask.key = keys[i & 1023]
    const { member } = cluster.place(ask, never)
    const permit = member.tryAcquire(ask)
    const slot = member.slots.tryAcquire(ask)
    const at = (i * 7) & (IN_FLIGHT - 1)
    const ended = out[at]
    if (ended !== null) {
      const tookMs = latencies[i % LATENCIES]
      ended.permit.settle('success', tookMs, ask.now)
      ended.slot.settle('success', tookMs, ask.now)
      ended.permit = permit
      ended.slot = slot
    } else out[at] = { permit, slot }
    return member
  }
}

/** Through a pipeline, with a work that answers at once: `balance` and all that it does besides. */
const balanced = (size, picker) => async (floodwall) => {
  const library = await floodwall()
  const { answered, balance, pipeline } = library
  const whole = pipeline('bench', [balance({ cluster: clusterOf(library, size, picker) })])
  const answer = answered(1)
  const work = (_call, done) => done(answer)
  let last
  const heard = (outcome) => {
    last = outcome
  }
  return () => {
    whole.start(work, heard)
    return last
  }
}

const named = (what, size, picker) => `${what}, ${size} endpoints${picker === DEFAULT ? '' : `, ${pickers[picker]}`}`

const kinds = { 'pick + settle': bare, 'balanced call': balanced }

export const rows = Object.entries(kinds).flatMap(([what, make]) =>
  Object.keys(pickers).flatMap((picker) =>
    sizes
      .filter(() => make === bare || picker === DEFAULT)
      .map((size) => ({ name: named(what, size, picker), shape: 'value', make: make(size, picker) })),
  ),
)
