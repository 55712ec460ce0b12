import { Cluster, isRejected, type RejectedError } from 'floodwall'
import { type Client, client, type Fetch } from 'floodwall/client'
import { VirtualRuntime } from 'floodwall/testing'
import { names } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { classOf, Flooded } from './support/flooded.ts'

// Callers refuse themselves what an overloaded server would refuse, in virtual time.

/** Servers that answer at once, each with its level, and what was sent to each. */
function posting(levels: Record<string, string | undefined>, options: Parameters<typeof client>[3] = {}) {
  const runtime = new VirtualRuntime({ seed: 7 })
  const sent: { to: string; path: string; headers: Headers }[] = []
  const fetch: Fetch = async (url, init) => {
    const { hostname, pathname } = new URL(url)
    sent.push({ to: hostname, path: pathname, headers: new Headers(init.headers) })
    const level = levels[hostname]
    return new Response(null, { headers: level === undefined ? {} : { [names.level]: level } })
  }
  const cluster = new Cluster({ slowStart: 0 }, runtime.env('c'))
  cluster.update(Object.keys(levels).map((id) => ({ id })))
  const caller = client('c', cluster, [], { runtime, fetch, holdBack: false, ...options })
  return { runtime, sent, caller, levels }
}

/** What became of `count` calls. */
async function fates(caller: Client, count: number, init: Parameters<Client['fetch']>[1] = {}, path = '/') {
  const seen: Record<string, number> = {}
  for (let i = 0; i < count; i++) {
    const fate = await caller.fetch(path, init).then(
      ({ status }) => String(status),
      (error: RejectedError) => error.code,
    )
    seen[fate] = (seen[fate] ?? 0) + 1
  }
  return seen
}

describe('what a server would refuse is refused here', () => {
  test('with the reason, the numbers and a time to come again', async () => {
    const { caller } = posting({ a: '200' })
    await caller.fetch('/', { criticality: 'criticalPlus' })
    let refusal: unknown
    for (let i = 0; i < 30 && refusal === undefined; i++) {
      await caller.fetch('/', { criticality: 'sheddable' }).catch((error: unknown) => (refusal = error))
    }
    expect(isRejected(refusal)).toBe(true)
    expect(refusal).toMatchObject({ code: 'overloaded', path: 'c/heed' })
    expect((refusal as RejectedError).retryAfterMs).toBeGreaterThanOrEqual(120_000)
    expect((refusal as Error).message).toMatch(
      /its level is 200 of 512, and the call stands at (?:38[4-9]|39\d|4\d\d|50\d|51[01])/,
    )
  })

  test('of those that are ruled out one in ten goes, and says for how many it stands; what would be taken always goes', async () => {
    const { caller, sent } = posting({ a: '128' })
    await caller.fetch('/')
    const before = sent.length
    const { 200: went = 0, overloaded = 0 } = await fates(caller, 2000, { criticality: 'sheddable' })
    expect([went + overloaded, overloaded / 2000]).toEqual([2000, expect.closeTo(0.9, 1)])
    expect(went).toBeGreaterThan(150)
    expect(new Set(sent.slice(before).map(({ headers }) => headers.get(names.standsFor)))).toEqual(new Set(['10']))
    expect(await fates(caller, 100, { criticality: 'criticalPlus' })).toEqual({ 200: 100 })
    expect(sent.at(-1)?.headers.get(names.standsFor)).toBe(null)
    const heed = (caller.inspect()['pipeline'] as { layers: { kind: string }[] }).layers.find((l) => l.kind === 'heed')
    expect(heed).toMatchObject({
      refusals: overloaded,
      levels: [{ api: 'GET /', endpoint: 'a', level: 128, ageMs: 0 }],
    })
  })

  test('a level of 0 silences nobody', async () => {
    const { caller, sent } = posting({ a: '0' })
    await caller.fetch('/')
    await fates(caller, 1000, { criticality: 'criticalPlus' })
    expect(sent.length).toBeGreaterThan(70)
  })

  test('a word opens by a class a second, whether nothing more is said, or that all may come', async () => {
    for (const says of [undefined, '512']) {
      const { caller, runtime, levels } = posting({ a: '256' })
      await caller.fetch('/')
      levels['a'] = says
      expect((await fates(caller, 200, { criticality: 'sheddable' })).overloaded).toBeGreaterThan(150)
      runtime.advance(1001)
      expect(await fates(caller, 100, { criticality: 'sheddablePlus' })).toEqual({ 200: 100 })
      expect((await fates(caller, 200, { criticality: 'sheddable', key: 'x' })).overloaded ?? 0).toBeGreaterThan(0)
      runtime.advance(1001)
      expect(await fates(caller, 200, { criticality: 'sheddable' })).toEqual({ 200: 200 })
    }
  })

  test('by API: another one of the same server is asked', async () => {
    const { caller } = posting({ a: '128' })
    await caller.fetch('/items/1')
    expect((await fates(caller, 100, { criticality: 'sheddable' }, '/items/2')).overloaded).toBeGreaterThan(70)
    expect((await fates(caller, 1, { criticality: 'sheddable' }, '/other')).overloaded).toBe(undefined)
  })

  test('the memory is bounded, the API that was heard of last is kept', async () => {
    const { caller } = posting({ a: '128' })
    for (let i = 0; i < 1500; i++) await caller.fetch(`/p${String.fromCharCode(97 + (i % 26))}${'x'.repeat(i / 26)}`)
    const { levels } = caller as unknown as { levels: { byApi: Map<string, unknown> } }
    expect(levels.byApi.size).toBe(1000)
  })

  test.each(['600', '-1', '1e2', '12.345', '', 'open', '0x10'])('what is no level says nothing: %j', async (text) => {
    const { caller } = posting({ a: text })
    expect(await fates(caller, 50, { criticality: 'sheddable' })).toEqual({ 200: 50 })
  })

  test('strangers are not believed: neither with heed: false, nor where nothing is told them', async () => {
    for (const options of [{ heed: false }, { propagate: false }]) {
      const { caller } = posting({ a: '0' }, options)
      expect(await fates(caller, 50)).toEqual({ 200: 50 })
    }
    const { caller } = posting({ a: '0' }, { propagate: false, heed: true })
    expect((await fates(caller, 50)).overloaded).toBeGreaterThan(30)
  })
})

describe('several endpoints', () => {
  test('one that would take the call comes first; all refuse: then it is refused here', async () => {
    const { caller, sent, levels } = posting({ a: '128', b: '512', c: '128' })
    await fates(caller, 60, { criticality: 'criticalPlus' })
    expect(new Set(sent.map(({ to }) => to))).toEqual(new Set(['a', 'b', 'c']))
    const before = sent.length
    expect(await fates(caller, 200, { criticality: 'critical' })).toEqual({ 200: 200 })
    expect(new Set(sent.slice(before).map(({ to }) => to))).toEqual(new Set(['b']))
    levels['b'] = '128'
    await fates(caller, 1, { criticality: 'critical' })
    expect((await fates(caller, 200, { criticality: 'critical' })).overloaded).toBeGreaterThan(150)
  })
})

describe('a server at four times its load', () => {
  /** Ten seconds of it, four classes alike. */
  async function flooded(seed: number, heed: boolean) {
    const world = new Flooded(seed)
    const tally = world.host('s')
    const caller = world.caller(['s'], { heed, holdBack: false })
    await world.flood(800, 10_000, (i) =>
      caller.fetch('/', { criticality: classOf(i), key: `u${Math.floor(world.runtime.random() * 5000)}` }),
    )
    return tally
  }

  test('refuses a fraction of what it had to, and does as much', async () => {
    const sums = { heard: { refused: 0, done: 0 }, unheard: { refused: 0, done: 0 } }
    for (const seed of [1, 2, 3]) {
      for (const [heed, sum] of [
        [true, sums.heard],
        [false, sums.unheard],
      ] as const) {
        const { refused, done } = await flooded(seed, heed)
        sum.refused += refused
        sum.done += done
      }
    }
    console.log(
      `refused there in 30 s: ${sums.unheard.refused}, with callers that heed ${sums.heard.refused}; done ${sums.unheard.done} and ${sums.heard.done}`,
    )
    expect(sums.heard.refused).toBeLessThan(sums.unheard.refused / 4)
    expect(sums.heard.done).toBeGreaterThan(sums.unheard.done * 0.98)
  }, 60_000)

  test('its pause for one class holds no other back', async () => {
    const world = new Flooded(5)
    world.host('s')
    const caller = world.caller(['s'])
    const codes: Record<string, number> = {}
    await world.flood(800, 4000, (i) =>
      caller.fetch('/', { criticality: classOf(i) }).catch((error: RejectedError) => {
        codes[error.code] = (codes[error.code] ?? 0) + 1
      }),
    )
    expect(codes['overloaded']).toBeGreaterThan(500)
    expect(codes['held-back']).toBe(undefined)
  })
})
