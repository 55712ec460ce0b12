import { breaker, bulkhead, deadline, pipeline, queue, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'
import { child } from './children/child.ts'

// Window and snapshot intervals held the process open and kept running after shutdown; one pair per breaker was too many with thousands of
// them. (opossum #378, #809, under-pressure #35)

describe('C38 a script', () => {
  test.each([
    ['unused', 0],
    ['used', 5000],
    ['closed', 0],
  ] as const)(
    'with 5,000 breakers, 100 limiters and 5,000 pipelines (%s) ends by itself, with no timers',
    async (mode, answers) => {
      expect(await child('./many-objects.mjs', [mode])).toEqual({ gates: 5100, answers, timers: 0 })
    },
  )

  test('that makes and drops 100,000 pipelines without closing them does not grow', async () => {
    const seen = (await child('./dropped.mjs', [], ['--expose-gc'])) as {
      megabytes: number
      shared: object
      timers: number
    }
    expect(seen.megabytes).toBeLessThan(2)
    expect(seen).toMatchObject({ shared: { used: 0, rooms: 0 }, timers: 0 })
  })

  test('whose loop was blocked keeps time: what began after the block is not cut short', async () => {
    expect(await child('./blocked-loop.mjs')).toEqual(['in time', 'timeout'])
  })
})

describe('C38 close()', () => {
  const layers = () => [
    deadline({ within: '1m' }),
    retry({ backoff: { first: '30s', atMost: '30s' } }),
    queue({ atMost: '30s' }),
    breaker({ consecutive: 1, openFor: 100, jitter: 0, probes: 1 }),
    bulkhead({ slots: 1 }),
    timeout({ after: '10s' }),
  ]

  test('during a call, twice, then a call', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', layers(), { runtime: world })
    const running = fateOf(p.call(takes(world, 50, 'done')))
    p.close()
    p.close()
    const late = fateOf(
      p.call(() => 1),
      world,
    )
    await world.advanceAsync(50)
    expect([running.value, codeOf(late), late.at, leftIn(world, p)]).toEqual(['done', 'closed', 0, NOTHING])
  })

  test('while half-open, while callers queue and while a retry waits: all are told at once, and no timer is left', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', layers(), { runtime: world })
    const error = new Error('down')
    const retrying = fateOf(
      p.call(() => Promise.reject(error), { idempotent: true }),
      world,
    )
    await world.advanceAsync(100)
    const probe = fateOf(p.call(takes(world, 50, 'probe')), world)
    // Only one probe: the others are refused by the breaker, they do not wait.
    const refused = fateOf(p.call(hangs), world)
    await world.settle()
    expect([codeOf(refused), layerOf(p, 'breaker')['state'], leftIn(world, p).waiting]).toEqual([
      'probing',
      'halfOpen',
      1,
    ])
    p.close()
    await world.settle()
    expect([retrying.value === error, retrying.at]).toEqual([true, 100])
    await world.advanceAsync(50)
    expect([probe.value, leftIn(world, p)]).toEqual(['probe', NOTHING])
  })

  test('with a hundred in the line: each is refused once, and nothing is called afterwards', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', layers(), { runtime: world })
    const events: unknown[] = []
    p.on((event) => events.push(event))
    const held = fateOf(p.call(takes(world, 50, 'held')))
    let ran = 0
    const line = Array.from({ length: 100 }, () =>
      fateOf(
        p.call(() => ran++),
        world,
      ),
    )
    p.close()
    const heardAtClose = events.length
    await world.advanceAsync('10m')
    expect([held.value, ran, line.every((f) => codeOf(f) === 'closed' && f.at === 0)]).toEqual(['held', 0, true])
    expect([events.length, heardAtClose <= 1, leftIn(world, p)]).toEqual([heardAtClose, true, NOTHING])
  })
})
