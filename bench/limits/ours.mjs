// What is measured of floodwall. A contender is { name, shape, make }: `make` gets `library`, which imports a module of it, and the number of
// keys; it returns the decision for one key. The time is given, 100,000 calls a second; limits are not reached: the answer is yes.

const IN_FLIGHT = 8
const STEP_MS = 0.01
const PER_SECOND = 1_000_000

async function envOf(library, now) {
  const { envOf: env, systemRuntime } = await library('index.js')
  return env({ ...systemRuntime, now }, 'bench')
}

/**
 * Asks and tells, a few permits being out: one that never leaves the loop would be optimised away. The answer is what a caller reads; to keep the
 * permit in a place of old age for each call, where the loops keep what they got, is 5 to 10 ns that no gate takes.
 */
export function drive(gate, clock) {
  const ask = { now: 0, deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
  const out = Array.from({ length: IN_FLIGHT }, () => gate.tryAcquire(ask))
  let i = 0
  return (key) => {
    ask.now = clock === undefined ? ask.now + STEP_MS : clock()
    ask.key = key
    const permit = gate.tryAcquire(ask)
    i = (i + 1) & (IN_FLIGHT - 1)
    out[i].settle('success', 1, ask.now)
    out[i] = permit
    return permit.ok
  }
}

/** `layerOf` gets the front door and the number of keys. */
const gate = (name, layerOf, { clocked = false, ...rest } = {}) => ({
  name,
  shape: 'sync',
  ...rest,
  async make(library, count) {
    const door = await library('index.js')
    const clock = clocked ? door.systemRuntime.now : undefined
    return drive(layerOf(door, count).build(await envOf(library, clock ?? (() => 0))), clock)
  },
})

/** Without a gate: what has a clock of its own gets one that is given. */
const given = (name, makeOf, shape = 'sync') => ({
  name,
  shape,
  async make(library, count) {
    // Not a variable: each new number would be an object.
    const clock = new Float64Array(1)
    const decide = await makeOf(library, () => clock[0], count)
    return (key) => {
      clock[0] += STEP_MS
      return decide(key)
    }
  },
})

const limits = { rate: PER_SECOND }
const keyedLimit = ({ keyedRateLimit }, max) => keyedRateLimit({ ...limits, max })

export const keyedRateLimit = gate('keyedRateLimit', keyedLimit)
export const clockedRateLimit = gate('keyedRateLimit, clock', keyedLimit, { clocked: true })
export const keyedGates = gate('keyed(rateLimit)', ({ keyed, rateLimit }, max) => keyed({ of: rateLimit(limits), max }))

const rate = (name, options) => gate(name, ({ rateLimit }) => rateLimit({ ...limits, ...options }))
const byKey = ({ key }) => key

/** One limit for all. */
export const single = [
  rate('rateLimit', {}),
  rate('rateLimit, gcra', { algorithm: 'gcra' }),
  rate('rateLimit, sliding window', { algorithm: 'slidingWindow' }),
  given('limiter().allow', async (library, now) => {
    const { limiter, systemRuntime } = await library('index.js')
    const one = limiter(limits, { ...systemRuntime, now })
    return () => one.allow()
  }),
]

/** `hotParameter` tells this many values apart, unless its row says otherwise. */
const VALUES = 10_000

const parameter = (cache) =>
  gate(`hotParameter, ${cache}`, ({ hotParameter }) =>
    hotParameter({ parameter: byKey, rate: PER_SECOND, max: VALUES, cache }),
  )

export const hot = {
  lru: parameter('lru'),
  tinyLfu: parameter('tinyLfu'),
  topK: given('heavy-keeper top-k add', async (library, now) => {
    const { TopK } = await library('algorithms/sketches/top-k.js')
    const { seeded } = await library('testing/index.js')
    const top = new TopK({ k: 100, halfLifeMs: 10_000 }, seeded(1))
    return (key) => top.add(key, now())
  }),
  cache: given(
    'hotCache hit',
    async (library, now, count) => {
      const { texts } = await import('./keys.mjs')
      const { hotCache } = await library('caches/index.js')
      const { systemRuntime } = await library('index.js')
      const load = (key) => Promise.resolve({ key })
      const cache = hotCache({ load, ttl: '1000h', max: count }, { ...systemRuntime, now })
      await cache.warm(texts(count))
      return (key) => cache.get(key)
    },
    'awaited',
  ),
  table: given('localTable get', async (library, _now, count) => {
    const { texts } = await import('./keys.mjs')
    const { localTable } = await library('caches/index.js')
    const table = localTable({ load: () => new Map(texts(count).map((key) => [key, { key }])) })
    await table.ready
    return (key) => table.get(key)
  }),
}
