import { Cluster } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fleet, goodShare, Scene, well } from './scene.ts'

// C27: all endpoints are out; the first ones back must not be stampeded.

const recovery = { minWorking: 6, hold: '10s', trustHistory: false } as const
const isolation = { openFor: '1h', probes: 1, jitter: 0 } as const

function allOut(options: ConstructorParameters<typeof Scene>[1] = {}, seed = 1): Scene {
  const cluster = { recovery, isolation, picker: 'roundRobin', whenOut: 'recover', ...options } as const
  const scene = new Scene(fleet(9), cluster, [], seed)
  scene.set('refuse')
  scene.flow(1, 100)
  expect(scene.isolated).toHaveLength(9)
  scene.set(well)
  scene.outcomes.length = 0
  return scene
}

function back(scene: Scene, id: string): void {
  scene.cluster.members.find((m) => m.endpoint.id === id)?.breaker.steer('closed', 'the test says so')
}

const refusedBy = (scene: Scene, reason: string) => scene.outcomes.filter((o) => o.rejection?.reason === reason).length

describe('C27 recovery, step by step', () => {
  test('C27 one of nine back, six needed: a sixth at once, two sixths after the second, then a ramp to everything', () => {
    const scene = allOut()
    back(scene, 'h1')
    const first = goodShare(scene.flow(0.5, 600))
    expect(first).toBeGreaterThan(1 / 6 - 0.05)
    // brpc steps from q/n to everything after the hold time; here the share grows over it (1/6 to 1 in 10 s: about 0.3 after 3 s).
    scene.flow(2.5, 600)
    back(scene, 'h2')
    const second = goodShare(scene.flow(0.5, 600))
    expect(second).toBeGreaterThan(2 / 6 - 0.06)
    expect(second).toBeLessThan(2 / 6 + 0.12)
    scene.flow(9, 600)
    expect(scene.cluster.inspect(scene.world.now())).toMatchObject({ recovering: true })
    scene.flow(1, 600)
    const after = scene.flow(2, 600)
    expect(scene.cluster.inspect(scene.world.now())).toMatchObject({ recovering: false, keepShare: 1 })
    expect(goodShare(after)).toBe(1)
  })

  test('C27 the first one back gets all that is let through, and refusals are local', () => {
    const scene = allOut()
    back(scene, 'h1')
    scene.hits.clear()
    scene.flow(0.5, 600)
    expect([...scene.hits.keys()]).toEqual(['h1'])
    expect((scene.hits.get('h1') ?? 0) + refusedBy(scene, 'recovering')).toBe(300)
  })

  test('C27 one back each second: over as soon as q reaches n', () => {
    const scene = allOut()
    for (let i = 1; i <= 6; i++) {
      back(scene, `h${i}`)
      scene.flow(1, 600)
    }
    expect(scene.cluster.inspect(scene.world.now())).toMatchObject({ recovering: false })
    expect(goodShare(scene.flow(1, 600))).toBe(1)
  })

  test('C27 q = 0 for a minute: all refused at once, and a probe by time remains', () => {
    const scene = allOut({ isolation: { openFor: '10s', openAtMost: '10s', growth: 1, probes: 1, jitter: 0 } })
    scene.set('refuse')
    scene.hits.clear()
    const outcomes = scene.flow(60, 100)
    expect(goodShare(outcomes)).toBe(0)
    const probes = [...scene.hits.values()].reduce((a, b) => a + b, 0)
    expect(probes).toBeGreaterThanOrEqual(9 * 5)
    expect(probes).toBeLessThanOrEqual(9 * 7)
    expect(refusedBy(scene, 'unreachable')).toBe(6000 - probes)
  })

  test('C27 n unset means all of them; a bad n is refused when loaded', () => {
    const scene = allOut({ recovery: { hold: '10s', trustHistory: false } })
    back(scene, 'h1')
    expect(goodShare(scene.flow(0.5, 900))).toBeLessThan(1 / 9 + 0.08)
    const env = new VirtualRuntime().env('x')
    for (const minWorking of [0, -1, 1.5, Number.NaN])
      expect(() => new Cluster({ recovery: { minWorking } }, env)).toThrow(/recovery\.minWorking/)
    // More than there are: discovery may still bring them, so "all" is what is needed until then.
    const more = allOut({ recovery: { minWorking: 50, hold: '10s', trustHistory: false } })
    for (let i = 1; i <= 9; i++) back(more, `h${i}`)
    more.flow(0.1, 100)
    expect(more.cluster.inspect(more.world.now())).toMatchObject({ recovering: false })
  })

  test('C27 the form of the seed, q/kn, is the other setting', () => {
    const scene = allOut({ recovery: { ...recovery, form: 'q/kn', redundancy: 1.5 } })
    back(scene, 'h1')
    const share = goodShare(scene.flow(0.5, 2000))
    expect(share).toBeGreaterThan(1 / 9 - 0.03)
    expect(share).toBeLessThan(1 / 9 + 0.09)
  })

  test('it does not begin after one failed retry, nor while one endpoint is left', () => {
    const scene = new Scene(fleet(3), { isolation })
    scene.set('refuse', 'h1', 'h2')
    scene.flow(2, 100)
    expect(scene.isolated.sort()).toEqual(['h1', 'h2'])
    expect(scene.cluster.inspect(scene.world.now())).toMatchObject({ recovering: false, allOut: 0 })
  })

  test('nothing is refused while the offered rate is below what those that are back carried before', () => {
    const recovery = { minWorking: 6, hold: '10s' } as const
    const scene = new Scene(fleet(9), { recovery, isolation, picker: 'roundRobin', whenOut: 'recover' })
    scene.flow(20, 90)
    scene.set('refuse')
    scene.flow(1, 90)
    scene.set(well)
    scene.flow(10, 9)
    scene.outcomes.length = 0
    back(scene, 'h1')
    expect(goodShare(scene.flow(2, 9))).toBe(1)
    expect(goodShare(scene.flow(0.9, 900))).toBeLessThan(1)
  })

  test('an endpoint that trips again under its share gets half of it', () => {
    const scene = allOut({ isolation: { consecutive: 3, openFor: '1s', growth: 1, probes: 1, jitter: 0 } })
    scene.set('refuse')
    back(scene, 'h1')
    scene.set({ ok: false, ms: 5 }, 'h1')
    scene.flow(0.5, 600)
    const [h1] = scene.cluster.members
    // Once for each trip: it is needed, so it stays in choice and is asked for less and less.
    expect(h1?.isolated).toBe(false)
    expect(Math.log2(h1?.recoveryShare ?? 1)).toBeLessThanOrEqual(-1)
    expect(Number.isInteger(Math.log2(h1?.recoveryShare ?? 1))).toBe(true)
  })

  test('a hold shorter than the longest stall gets a warning', () => {
    const world = new VirtualRuntime()
    new Cluster({ recovery: { hold: '10s', stall: '30s' } }, world.env('shop'))
    expect(world.events).toMatchObject([{ type: 'warning', path: 'shop' }])
  })

  test('an empty cluster is not one that fell over', () => {
    const scene = new Scene([])
    scene.call()
    expect(scene.outcomes[0]?.rejection?.why).toBe('no endpoint is known')
    expect(scene.cluster.inspect(scene.world.now())).toMatchObject({ recovering: false, allOut: 0 })
  })

  test('who is needed is not isolated for its results: the rest would be overrun, and fail in its turn', () => {
    const scene = new Scene(fleet(9), {
      recovery: { minWorking: 6 },
      isolatedAtMost: 1,
      isolation: { ...isolation, consecutive: 3 },
    })
    scene.set({ ok: false, ms: 20 })
    scene.flow(5, 300)
    expect(scene.isolated).toHaveLength(3)
  })

  test('while all are out isolations do not grow: the first one back is seen soon', () => {
    const scene = new Scene(fleet(3), {
      isolation: { openFor: '1s', openAtMost: '30s', jitter: 0, probes: 1 },
      whenOut: 'recover',
    })
    scene.set('refuse')
    scene.flow(60, 20)
    scene.set(well)
    scene.flow(3, 20)
    expect(scene.isolated).toEqual([])
  })
})
