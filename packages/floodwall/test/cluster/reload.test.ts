import {
  answered,
  balance,
  bulkhead,
  Cluster,
  envOf,
  failed,
  type Outcome,
  type Pipeline,
  pipeline,
  queue,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

// C36 for clusters: what is known of endpoints that stay is kept.

function house() {
  const world = new VirtualRuntime({ startAt: 1000 })
  const options = { picker: 'roundRobin', isolation: { consecutive: 3, openFor: '1h' }, slowStart: 0 } as const
  const of = (...ids: string[]) => balance({ endpoints: ids.map((id) => ({ id })), ...options })
  const p = pipeline('shop', [of('a', 'b', 'c')], { runtime: world })
  const hits: string[] = []
  const call = (times: number) => {
    for (let i = 0; i < times; i++) {
      p.start(
        ({ endpoint }, done) => {
          hits.push(endpoint?.id ?? '?')
          done(endpoint?.id === 'b' ? failed(new Error('broken')) : answered(1))
        },
        () => {},
      )
    }
  }
  return { p, of, hits, call, options, world }
}

function pickerIn(p: Pipeline): string {
  const [balancer] = p.inspect()['layers'] as { cluster: { picker: string } }[]
  return String(balancer?.cluster.picker)
}

test('C36 an isolated endpoint stays isolated over a reload that adds another', () => {
  const { p, of, hits, call } = house()
  call(20)
  p.reload([of('a', 'b', 'c', 'd')])
  hits.length = 0
  call(9)
  expect(hits.filter((id) => id === 'b')).toEqual([])
  expect(hits.filter((id) => id === 'd')).toHaveLength(3)
})

test('C36 other layers around and within: the cluster stays', () => {
  const { p, hits, call, options } = house()
  call(20)
  const endpoints = ['a', 'b', 'c'].map((id) => ({ id }))
  p.reload([timeout({ after: '1s' }), balance({ endpoints, ...options, each: [timeout({ after: '1s' })] })])
  hits.length = 0
  call(8)
  expect(hits.filter((id) => id === 'b')).toEqual([])
})

test('C36 another picker, other numbers: who is isolated stays isolated, to its time', () => {
  const { p, hits, call, options, world } = house()
  call(20)
  const endpoints = ['a', 'b', 'c'].map((id) => ({ id }))
  for (const picker of ['leastLoaded', 'random', 'consistentHash'] as const) {
    p.reload([balance({ endpoints, ...options, picker, isolation: { consecutive: 4, openFor: '1s' } })])
    hits.length = 0
    call(20)
    expect(hits).not.toContain('b')
    expect(pickerIn(p)).toBe(picker)
  }
  world.advance(3_599_000)
  hits.length = 0
  call(4)
  expect(hits).not.toContain('b')
  world.advance(400_000)
  call(4)
  expect(hits).toContain('b')
})

test('C36 the numbers that a reload says hold from then on', () => {
  const { p, hits, call, options } = house()
  const endpoints = ['a', 'b', 'c'].map((id) => ({ id }))
  p.reload([balance({ endpoints, ...options, isolation: { consecutive: 100, openFor: '1h' } })])
  call(60)
  expect(hits.filter((id) => id === 'b')).toHaveLength(20)
  p.reload([balance({ endpoints, ...options, isolation: { consecutive: 5, openFor: '1h' } })])
  hits.length = 0
  call(60)
  expect(hits.filter((id) => id === 'b').length).toBeLessThanOrEqual(5)
})

test.each([
  ['picker', { picker: 'leastLoaded' }],
  ['isolation', { isolation: { consecutive: 7 } }],
  ['maxInFlight', { maxInFlight: 7 }],
  ['isolatedAtMost', { isolatedAtMost: 0.1 }],
  ['slowStart', { slowStart: '1s' }],
  ['whenOut', { whenOut: 'recover' }],
  ['recovery', { recovery: { hold: '1s' } }],
  ['zone', { zone: 'here' }],
] as const)('C36 another %s: slots that are taken stay taken, and who waits goes on waiting', (_name, other) => {
  const world = new VirtualRuntime({ startAt: 1000 })
  const each = [queue({ atMost: '1h' }), bulkhead({ slots: 2 })]
  const of = (more: object) => balance({ endpoints: [{ id: 'a' }], each, slowStart: 0, ...more })
  const p = pipeline('shop', [of({})], { runtime: world })
  const running: ((outcome: Outcome<unknown>) => void)[] = []
  const came: Outcome<unknown>[] = []
  const call = () =>
    p.start(
      (_call, done) => void running.push(done),
      (outcome) => came.push(outcome),
    )
  for (let i = 0; i < 4; i++) call()
  expect(running).toHaveLength(2)
  p.reload([of(other)])
  call()
  expect([running.length, came.length]).toEqual([2, 0])
  for (let i = 0; i < 5; i++) {
    running[i]?.(answered(i))
    expect(running).toHaveLength(Math.min(5, i + 3))
  }
  expect(came.map((outcome) => outcome.ok && outcome.value)).toEqual([0, 1, 2, 3, 4])
  expect(p.inspect()['running']).toBe(0)
})

test.each([
  ['slowStart', { slowStart: '1ms' }],
  ['whenOut', { whenOut: 'panic' }],
  ['recovery', { recovery: { hold: '1s' } }],
] as const)('C36 another %s: who is isolated stays isolated', (_name, other) => {
  const { p, hits, call, options } = house()
  call(20)
  const endpoints = ['a', 'b', 'c'].map((id) => ({ id }))
  p.reload([balance({ endpoints, ...options, ...other })])
  hits.length = 0
  call(20)
  expect(hits).not.toContain('b')
  expect(new Set(hits)).toEqual(new Set(['a', 'c']))
})

test('C36 somebody else\u2019s cluster in its place is another one: nothing is taken over', () => {
  const { p, hits, call } = house()
  call(20)
  const cluster = new Cluster({ slowStart: 0 }, envOf(new VirtualRuntime({ startAt: 1000 }), 'other'))
  cluster.update([{ id: 'a' }, { id: 'b' }])
  p.reload([balance({ cluster })])
  hits.length = 0
  call(40)
  expect(hits).toContain('b')
})

test('C36 a function among the options is the same as itself only: another one says how long from the next time on', () => {
  const { p, hits, call, world } = house()
  const of = (openFor: () => number) =>
    balance({ endpoints: [{ id: 'a' }, { id: 'b' }], picker: 'roundRobin', isolation: { consecutive: 3, openFor } })
  p.reload([of(() => 3_600_000)])
  call(20)
  p.reload([of(() => 1000)])
  world.advance(3_599_000)
  hits.length = 0
  call(8)
  expect(hits).not.toContain('b')
})
