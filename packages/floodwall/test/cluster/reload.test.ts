import { answered, balance, failed, pipeline, timeout } from 'floodwall'
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
  return { p, of, hits, call, options }
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

test('C36 another kind of cluster starts anew', () => {
  const { p, hits, call } = house()
  call(20)
  p.reload([balance({ endpoints: [{ id: 'a' }, { id: 'b' }], picker: 'leastLoaded' })])
  hits.length = 0
  call(20)
  expect(hits).toContain('b')
})

test('C36 a function among the options is the same as itself only', () => {
  const { p, hits, call } = house()
  const of = (openFor: () => number) =>
    balance({ endpoints: [{ id: 'a' }, { id: 'b' }], picker: 'roundRobin', isolation: { consecutive: 3, openFor } })
  const hour = () => 3_600_000
  p.reload([of(hour)])
  call(20)
  const isolated = () => {
    hits.length = 0
    call(8)
    return !hits.includes('b')
  }
  expect(isolated()).toBe(true)
  p.reload([of(hour)])
  expect(isolated()).toBe(true)
  // Another one may say something else: the cluster starts anew.
  p.reload([of(() => 3_600_000)])
  expect(isolated()).toBe(false)
})
