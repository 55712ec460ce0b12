import fc from 'fast-check'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Probes } from '../../src/algorithms/gates/probes.ts'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

/** What `size` results in this order come to, by the definition: decided as soon as the rest can change nothing. */
function decided(size: number, share: number, results: readonly boolean[]): { by: number; to: 'open' | 'close' } {
  for (let by = 1; by <= size; by++) {
    const bad = results.slice(0, by).filter((good) => !good).length
    const left = size - by
    if (bad / size >= share) return { by, to: 'open' }
    if ((bad + left) / size < share) return { by, to: 'close' }
  }
  throw new Error('never decided')
}

function halfOpen(probes: number, probeFailureRate: number): Scene {
  const scene = new Scene({ consecutive: 1, openFor: 1000, jitter: 0, probes, probeFailureRate, probeLapse: 300 })
  scene.call('failure')
  scene.world.advance(1000)
  return scene
}

describe('half-open decides as soon as it is certain', () => {
  //    probes, share: failures that open, successes that close
  test.each([
    [1, 0.5, 1, 1],
    [2, 0.5, 1, 2],
    [3, 0.5, 2, 2],
    [4, 0.5, 2, 3],
    [5, 0.5, 3, 3],
    [1, 1, 1, 1],
    [2, 1, 2, 1],
    [3, 1, 3, 1],
    [4, 1, 4, 1],
    [5, 1, 5, 1],
    [1, 0.01, 1, 1],
    [3, 0.01, 1, 3],
    [5, 0.01, 1, 5],
    [3, 0.34, 2, 2],
    [3, 1 / 3, 1, 3],
    [5, 0.2, 1, 5],
    [5, 0.21, 2, 4],
    [5, 0.4, 2, 4],
    [5, 0.6, 3, 3],
    [5, 0.8, 4, 2],
  ])('%i probes, share %d: %i failures open it, %i successes close it', (size, share, toOpen, toClose) => {
    const failing = halfOpen(size, share)
    for (const permit of offered(failing.gate, toOpen, failing.now)) {
      expect(failing.state).toBe('halfOpen')
      permit.settle('failure', 1, failing.now)
    }
    expect(failing.state).toBe('open')
    const healing = halfOpen(size, share)
    for (const permit of offered(healing.gate, toClose, healing.now)) {
      expect(healing.state).toBe('halfOpen')
      permit.settle('success', 1, healing.now)
    }
    expect(healing.state).toBe('closed')
  })

  test('every order of results of 1 to 5 probes, at every share that matters', () => {
    for (let size = 1; size <= 5; size++) {
      for (const share of [0.01, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.99, 1]) {
        for (let bits = 0; bits < 1 << size; bits++) {
          const results = Array.from({ length: size }, (_, i) => ((bits >> i) & 1) === 1)
          const { by, to } = decided(size, share, results)
          const probes = new Probes(size, share, 1000)
          const said = results.map((good) => {
            const serial = probes.lend(0)
            return probes.giveBack(serial) ? probes.record(good) : 'lapsed'
          })
          const where = `${size} probes, share ${share}, ${results.join()}`
          expect(said.slice(0, by), where).toEqual([...Array.from({ length: by - 1 }, () => undefined), to])
        }
      }
    }
  })

  test('a share that no double holds exactly is met by its own number of probes', () => {
    // 0.07 · 100 is 7.000000000000001 in doubles, 0.55 · 100 is 55.00000000000001.
    for (let bad = 1; bad <= 100; bad++) {
      const probes = new Probes(100, bad / 100, 1000)
      const said = Array.from({ length: bad }, () => probes.record(false))
      expect(said.indexOf('open'), `${bad} of 100`).toBe(bad - 1)
    }
  })

  test('the results that are not waited for decide nothing: they are of an older generation', () => {
    const scene = halfOpen(3, 0.5)
    const [first, second, third] = offered(scene.gate, 3, scene.now)
    first?.settle('success', 1, scene.now)
    second?.settle('success', 1, scene.now)
    expect(scene.state).toBe('closed')
    third?.settle('failure', 1, scene.now)
    // `consecutive: 1` would open at any failure that counts.
    expect(scene.state).toBe('closed')
  })

  test('neither a minimum volume nor the failure rate of the closed state has a say', () => {
    const scene = new Scene({ lastCalls: 10, atLeast: 10, failureRate: 1, openFor: 1000, probes: 1, jitter: 0 })
    scene.calls(10, 'failure')
    scene.world.advance(1000)
    scene.call('failure')
    expect(scene.state).toBe('open')
  })
})

describe('free + running + good + bad = size', () => {
  test('after every step of a half-open life', () => {
    const scene = halfOpen(5, 0.6)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 5, running: 0, good: 0, bad: 0 })
    const [a, b, c, d, e] = offered(scene.gate, 6, scene.now)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 0, running: 5, good: 0, bad: 0 })
    a?.settle('success', 1, scene.now)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 0, running: 4, good: 1, bad: 0 })
    b?.settle('failure', 1, scene.now)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 0, running: 3, good: 1, bad: 1 })
    c?.settle('ignored', 1, scene.now)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 1, running: 2, good: 1, bad: 1 })
    d?.settle('overload', 1, scene.now)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 2, running: 1, good: 1, bad: 1 })
    e?.cancel(scene.now)
    expect(scene.snapshot.probes).toEqual({ size: 5, free: 3, running: 0, good: 1, bad: 1 })
    expect(offered(scene.gate, 9, scene.now)).toHaveLength(3)
  })

  test('it says half-open, so it shows the probes that a call would meet, not those of the last time', () => {
    const scene = halfOpen(3, 0.5)
    for (const permit of offered(scene.gate, 2, scene.now)) permit.settle('failure', 1, scene.now)
    expect(scene.state).toBe('open')
    scene.world.advance(60_000)
    expect(scene.snapshot).toMatchObject({
      state: 'halfOpen',
      probes: { size: 3, free: 3, running: 0, good: 0, bad: 0 },
    })
  })

  test('whatever happens, in any order', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.nat(400)), { maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0.1, 0.5, 0.6, 1), steps, (size, share, todo) => {
        const probes = new Probes(size, share, 300)
        const out: number[] = []
        let now = 0
        let decision: string | undefined
        for (const [what, ms] of todo) {
          if (decision !== undefined) break
          now += ms
          if (what <= 1) {
            const serial = probes.lend(now)
            if (serial > 0) out.push(serial)
          } else if (what === 2) probes.lapse(now)
          else {
            const serial = out.splice(ms % (out.length || 1), 1)[0]
            if (serial !== undefined && probes.giveBack(serial) && what !== 3) decision = probes.record(what === 4)
          }
          const { free, running, good, bad } = probes
          expect(free + running + good + bad).toBe(size)
          expect(Math.min(free, running, good, bad)).toBeGreaterThanOrEqual(0)
          // Undecided, a probe is free or out: nobody is refused for ever.
          if (decision === undefined) expect(free + running).toBeGreaterThan(0)
        }
      }),
      { seed: 4, numRuns: 1000 },
    )
  })
})

describe('a probe is a lease', () => {
  test('refused until the oldest lapses, and told how long that is', () => {
    const scene = halfOpen(2, 0.5)
    admitted(scene.gate, scene.now)
    scene.world.advance(100)
    admitted(scene.gate, scene.now)
    scene.world.advance(50)
    const no = rejected(scene.gate, scene.now)
    expect(no).toMatchObject({ reason: 'probing', retryAfterMs: 150, value: 2, limit: 2, never: false })
    expect(no.why).toBe('half-open, all 2 probes are out')
    scene.world.advance(150)
    admitted(scene.gate, scene.now)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(100)
  })

  test('several that lapsed together are told of once', () => {
    const scene = halfOpen(3, 0.5)
    offered(scene.gate, 3, scene.now)
    scene.world.events.length = 0
    scene.world.advance(10_000)
    expect(offered(scene.gate, 5, scene.now)).toHaveLength(3)
    expect(scene.events).toMatchObject([{ type: 'lapsed', at: scene.now, why: '3 probe(s) were not reported on' }])
  })

  test('what lapsed counts as nothing: the breaker may still close', () => {
    const scene = halfOpen(2, 0.5)
    offered(scene.gate, 2, scene.now)
    scene.world.advance(300)
    for (const permit of offered(scene.gate, 2, scene.now)) permit.settle('success', 1, scene.now)
    expect(scene.state).toBe('closed')
  })

  test('a lapsed probe that reports or is cancelled after all gives nothing back', () => {
    for (const end of ['settle', 'cancel'] as const) {
      const scene = halfOpen(1, 0.5)
      const lost = admitted(scene.gate, scene.now)
      scene.world.advance(300)
      const probe = admitted(scene.gate, scene.now)
      if (end === 'settle') lost.settle('success', 300, scene.now)
      else lost.cancel(scene.now)
      expect(scene.snapshot).toMatchObject({ state: 'halfOpen', probes: { free: 0, running: 1, good: 0, bad: 0 } })
      probe.settle('success', 1, scene.now)
      expect(scene.state).toBe('closed')
    }
  })

  test('10,000 probes that nobody reports on leave no trace', () => {
    const scene = halfOpen(3, 0.5)
    const random = seeded(3)
    for (let i = 0; i < 10_000; i++) {
      scene.gate.tryAcquire(ask(scene.now))
      scene.world.advance(random() * 200)
    }
    expect(scene.snapshot.probes.running).toBeLessThanOrEqual(3)
    scene.world.advance(300)
    expect(offered(scene.gate, 9, scene.now)).toHaveLength(3)
  })
})
