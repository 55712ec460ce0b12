import { retry } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { broken, fleet, Scene, well } from './scene.ts'

// C26 and its kind: how many may be out, who counts, and who comes back.

describe('C26 the cap on isolation for results', () => {
  const rows: [n: number, cap: number, out: number][] = [
    [1, 1, 1],
    [1, 0.5, 0],
    [2, 0.1, 0],
    [3, 0.5, 1],
    [3, 0.67, 2],
    [10, 0.1, 1],
    [10, 0, 0],
    [10, 1, 10],
    [100, 0.29, 29],
  ]
  for (const [n, cap, out] of rows) {
    test(`C26 ${n} endpoints, all failing, cap ${cap * 100} %: ${out} are isolated, never more`, () => {
      const scene = new Scene(fleet(n), {
        isolatedAtMost: cap,
        isolation: { consecutive: 5, openFor: '1h' },
        picker: 'roundRobin',
      })
      scene.set(broken)
      for (let i = 0; i < 200; i++) {
        for (let k = 0; k < n; k++) scene.call()
        scene.world.advance(50)
        expect(scene.isolated.length).toBeLessThanOrEqual(out)
      }
      expect(scene.isolated).toHaveLength(out)
    })
  }

  test('C26 "always allow one" is an option of its own', () => {
    const scene = new Scene(fleet(2), {
      isolatedAtMost: 0.1,
      isolatedAlways: 1,
      picker: 'roundRobin',
      isolation: { consecutive: 5, openFor: '1h' },
    })
    scene.set(broken)
    scene.flow(5, 100)
    expect(scene.isolated).toHaveLength(1)
  })

  for (const [n, cap] of [
    [1, 1],
    [10, 1],
    [10, 0],
    [1, 0.5],
  ] as const) {
    test(`C26 refused connections isolate whatever the cap: ${n} of ${n} at ${cap * 100} %`, () => {
      const scene = new Scene(fleet(n), { isolatedAtMost: cap, isolation: { openFor: '1h' }, picker: 'roundRobin' })
      scene.set('refuse')
      scene.flow(2, 50)
      expect(scene.isolated).toHaveLength(n)
    })
  }

  test('C26 when discovery shrinks the cluster the excess is readmitted', () => {
    const scene = new Scene(fleet(10), {
      isolatedAtMost: 0.5,
      isolation: { consecutive: 5, openFor: '1h' },
      picker: 'roundRobin',
    })
    scene.set(broken)
    scene.flow(5, 200)
    const out = scene.isolated
    expect(out).toHaveLength(5)
    const kept = scene.cluster.members
      .filter((m) => !m.isolated)
      .slice(0, 1)
      .map((m) => m.endpoint)
    scene.cluster.update([...out.slice(0, 3).map((id) => ({ id })), ...kept])
    expect(scene.isolated.length).toBeLessThanOrEqual(2)
  })

  test('C26 leaving and joining again is no way out of isolation', () => {
    const scene = new Scene(fleet(4), { isolation: { consecutive: 5, openFor: '1h' }, picker: 'roundRobin' })
    scene.set(broken, 'h1')
    scene.flow(2, 100)
    expect(scene.isolated).toEqual(['h1'])
    scene.cluster.update(fleet(4).slice(1))
    scene.world.advance('10s')
    scene.cluster.update(fleet(4))
    expect(scene.isolated).toEqual(['h1'])
  })

  test('C26 the isolation time grows, is capped, and starts small again after long health', () => {
    const scene = new Scene(fleet(4), {
      isolation: { consecutive: 5, openFor: '1s', openAtMost: '8s', jitter: 0, healthyAfter: '30s' },
      picker: 'roundRobin',
    })
    const spans = () => {
      const found: number[] = []
      let since = 0
      for (const e of scene.world.events) {
        if (e.type !== 'state' || e.path !== 'shop/h1') continue
        if (e.to === 'open') since = e.at
        else if (e.from === 'open') found.push(Math.round((e.at - since) / 1000))
      }
      return found
    }
    scene.set(broken, 'h1')
    scene.flow(60, 100)
    expect(spans().slice(0, 6)).toEqual([1, 2, 4, 8, 8, 8])
    scene.set(well)
    scene.flow(50, 100)
    scene.world.events.length = 0
    scene.set(broken, 'h1')
    scene.flow(4, 100)
    expect(spans()[0]).toBe(1)
  })

  test('C26 panic: when none is in choice all get traffic, and it is shown', () => {
    const scene = new Scene(fleet(3), {
      isolatedAtMost: 1,
      whenOut: 'panic',
      isolation: { consecutive: 5, openFor: '1h' },
      picker: 'roundRobin',
    })
    scene.set(broken)
    scene.flow(2, 100)
    expect(scene.isolated).toHaveLength(3)
    scene.hits.clear()
    const outcomes = scene.flow(1, 30)
    expect(outcomes.every((o) => o.rejection === undefined)).toBe(true)
    expect([...scene.hits.values()]).toEqual([10, 10, 10])
    expect(scene.cluster.inspect(scene.world.now())).toMatchObject({ inChoice: 0, allOut: 1 })
  })
})

describe('what isolates', () => {
  test('three connect timeouts in a row, and an answer between starts anew', () => {
    const scene = new Scene(fleet(2), { picker: 'roundRobin', isolation: { openFor: '1h' } })
    const [h1] = scene.cluster.members
    if (h1 === undefined) throw new Error('no member')
    scene.cluster.connectFailed(h1, 'timeout', 'UND_ERR_CONNECT_TIMEOUT')
    scene.cluster.connectFailed(h1, 'timeout', 'UND_ERR_CONNECT_TIMEOUT')
    scene.flow(1, 10)
    scene.cluster.connectFailed(h1, 'timeout', 'UND_ERR_CONNECT_TIMEOUT')
    scene.cluster.connectFailed(h1, 'timeout', 'UND_ERR_CONNECT_TIMEOUT')
    expect(scene.isolated).toEqual([])
    scene.cluster.connectFailed(h1, 'timeout', 'UND_ERR_CONNECT_TIMEOUT')
    expect(scene.isolated).toEqual(['h1'])
  })

  test('facts from another process: report and isolate are plain data', () => {
    const scene = new Scene(fleet(4), { isolation: { consecutive: 5, openFor: '1h' } })
    scene.cluster.report(JSON.parse('{"endpoint":"h2","successes":0,"failures":7}'))
    expect(scene.isolated).toEqual(['h2'])
    expect(scene.cluster.isolate('h3', 5000, 'another gateway saw it')).toBe(true)
    expect(scene.cluster.isolate('nobody', 5000, 'x')).toBe(false)
    expect(scene.isolated).toEqual(['h2', 'h3'])
    scene.flow(6, 100)
    expect(scene.isolated).toEqual(['h2'])
  })

  test('one poisonous request is counted once per cluster and tried on two endpoints', () => {
    const scene = new Scene(fleet(6), { picker: 'roundRobin', isolation: { consecutive: 2, openFor: '1h' } }, [
      retry({ attempts: 5, backoff: { first: 1, atMost: 1 } }),
    ])
    scene.set(broken)
    scene.call()
    scene.world.advance('1s')
    expect([...scene.hits.values()]).toEqual([1, 1])
    // Twice the same poison: two endpoints have one failure each, four attempts in all, nobody is out.
    scene.call()
    scene.world.advance('1s')
    expect(scene.isolated).toEqual([])
  })

  test('a retry goes to an endpoint that was not tried', () => {
    const scene = new Scene(fleet(3), { isolatedAtMost: 0 }, [
      retry({ attempts: 2, backoff: { first: 1, atMost: 1 }, budget: { ratio: 1 } }),
    ])
    scene.set(broken, 'h1')
    const outcomes = scene.flow(5, 100)
    expect(outcomes.every((o) => o.ok)).toBe(true)
  })

  test('a node that turns wrong is out within a second, and comes back by itself', () => {
    const scene = new Scene(fleet(4), { picker: 'roundRobin' })
    scene.flow(5, 200)
    scene.set(broken, 'h2')
    scene.flow(1, 200)
    expect(scene.isolated).toEqual(['h2'])
    scene.set(well)
    scene.flow(10, 200)
    expect(scene.isolated).toEqual([])
    scene.hits.clear()
    scene.flow(2, 200)
    expect(scene.hits.get('h2')).toBe(100)
  })
})

describe('C28 the fastest endpoint is the broken one', () => {
  test('C28 with isolation off it gets no more than its fair third', () => {
    const scene = new Scene(fleet(3), { isolatedAtMost: 0 })
    scene.set({ ok: false, ms: 1 }, 'h1')
    scene.set({ ok: true, ms: 100 }, 'h2', 'h3')
    scene.flow(10, 100)
    expect(scene.hits.get('h1') ?? 0).toBeLessThanOrEqual(334)
  })

  test('C28 with isolation on it gets probes and little else', () => {
    const scene = new Scene(fleet(3))
    scene.set({ ok: false, ms: 1 }, 'h1')
    scene.set({ ok: true, ms: 100 }, 'h2', 'h3')
    scene.flow(10, 100)
    expect(scene.hits.get('h1') ?? 0).toBeLessThan(60)
  })

  test('C28 refused connections have no latency, and still do not attract', () => {
    const scene = new Scene(fleet(3))
    scene.set('refuse', 'h1')
    scene.flow(10, 100)
    expect(scene.hits.get('h1') ?? 0).toBeLessThan(20)
  })

  const fairShareAfter = (options: ConstructorParameters<typeof Scene>[1], waitSeconds: number) => {
    const scene = new Scene(fleet(3), options)
    scene.set(broken, 'h1')
    scene.flow(20, 100)
    scene.set(well)
    scene.flow(waitSeconds, 100)
    scene.hits.clear()
    scene.flow(10, 100)
    return (scene.hits.get('h1') ?? 0) / 1000
  }

  test('C28 after it is well again it has its fair share within ten seconds: old penalties decay', () => {
    const share = fairShareAfter({ isolatedAtMost: 0 }, 10)
    expect(share).toBeGreaterThan(0.25)
    expect(share).toBeLessThan(0.42)
  })

  // An isolation that has grown to 16 s is served first: an endpoint that has failed its probes four times has earned it.
  test('C28 with isolation on it has it ten seconds after its isolation', () => {
    const share = fairShareAfter({ isolation: { consecutive: 5, openFor: '1s', openAtMost: '4s' } }, 15)
    expect(share).toBeGreaterThan(0.25)
    expect(share).toBeLessThan(0.42)
  })

  test('C28 when all fail they are chosen evenly, and nothing is left inside', () => {
    const scene = new Scene(fleet(3), { isolatedAtMost: 0 })
    scene.set(broken)
    scene.flow(10, 300)
    for (const n of scene.hits.values()) expect(Math.abs(n - 1000)).toBeLessThan(200)
    scene.world.advance('1s')
    expect(scene.cluster.members.map((m) => m.inFlight)).toEqual([0, 0, 0])
  })
})
