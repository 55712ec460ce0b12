import {
  answered,
  type BreakerOptions,
  balance,
  breaker,
  type FloodEvent,
  type Outcome,
  pipeline,
  type Snapshot,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

// The breaker of an endpoint is this breaker: what it can do alone, it does in a cluster.

/** Two endpoints, of which a hangs while `dead`; ten calls a second. */
function house(isolation: BreakerOptions) {
  const world = new VirtualRuntime({ seed: 5 })
  const p = pipeline(
    'p',
    [balance({ endpoints: [{ id: 'a' }, { id: 'b' }], picker: 'roundRobin', slowStart: 0, isolation })],
    {
      runtime: world,
    },
  )
  let dead = true
  const asked: Record<string, number> = { a: 0, b: 0 }
  const outcomes: Outcome<unknown>[] = []
  const run = (seconds: number) => {
    asked['a'] = 0
    asked['b'] = 0
    for (let i = 0; i < seconds * 10; i++) {
      p.start(
        (call, done) => {
          const { id } = call.endpoint as { id: string }
          asked[id] = (asked[id] ?? 0) + 1
          if (id !== 'a' || !dead) world.after(5, () => done(answered(id)))
        },
        (outcome) => outcomes.push(outcome),
      )
      world.advance(100)
    }
    return { ...asked }
  }
  const told = (path: string) =>
    world.events.filter(
      (event): event is FloodEvent & { type: 'state' } => event.type === 'state' && event.path.endsWith(path),
    )
  return { p, world, run, told, outcomes, revive: () => void (dead = false) }
}

const SLOW = { slowRate: 0.5, slowAfter: '200ms', atLeast: 3, openFor: '5s', jitter: 0, probes: 1 } as const

describe('an endpoint', () => {
  test('that answers nothing is isolated by the calls that hang', () => {
    const { run, told } = house(SLOW)
    run(3)
    expect(told('/a').map(({ to }) => to)).toEqual(['open'])
    expect(told('/a')[0]?.why).toMatch(/calls took longer than 200ms in the last 10s, \d+ of them still running/)
    expect(run(1)).toEqual({ a: 0, b: 10 })
  })

  test('... and without slowRate it is not: half of all calls go there, and hang', () => {
    const { run, told } = house({ failureRate: 0.5, openFor: '5s' })
    expect([run(30), told('/a')]).toEqual([{ a: 150, b: 150 }, []])
  })

  test('that is back gets a growing share, and what its ramp refuses goes to another', () => {
    const { run, told, outcomes, revive } = house({ ...SLOW, ramp: '20s' })
    run(3)
    revive()
    run(5)
    expect(told('/a').map(({ to }) => to)).toEqual(['open', 'halfOpen', 'closed'])
    const shares = [1, 2, 3, 4].map(() => run(5)['a'] ?? 0)
    expect(shares[0]).toBeLessThan(12)
    expect(shares[3]).toBeGreaterThan(shares[0] as number)
    expect(run(5)).toEqual({ a: 25, b: 25 })
    expect(outcomes.filter(({ rejection }) => rejection !== undefined)).toEqual([])
  })

  test('eager: it goes on probation by a timer', () => {
    const { run, told, world } = house({ ...SLOW, eager: true })
    run(3)
    world.advance('5s')
    expect(told('/a').map(({ to }) => to)).toEqual(['open', 'halfOpen'])
  })

  test('shows the same numbers as a breaker alone', () => {
    const { p } = house(SLOW)
    const [layer] = p.inspect()['layers'] as { cluster: { endpoints: { breaker: Snapshot }[] } }[]
    const endpoint = layer?.cluster.endpoints[0]
    const alone = breaker(SLOW).build(new VirtualRuntime().env()) as { inspect(now: number): Snapshot }
    expect(Object.keys(endpoint?.breaker ?? {})).toEqual(Object.keys(alone.inspect(0)))
  })
})
