import { answered, failed, type Layer, pipeline, type Snapshot, type Verdict } from 'floodwall'
import { builtIn } from 'floodwall/rules'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { kinds, layersOfEachKind } from './layers-of-each-kind.ts'

// What inspect() shows is what the kind has published: JSON-safe, finite, and nothing more.

/** Throws unless JSON carries all of it, exactly. */
function isJson(value: unknown, where = 'snapshot'): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error(`${where} is ${value}`)
    return
  }
  if (typeof value !== 'object') throw new Error(`${where} is a ${typeof value}`)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && !Array.isArray(value)) throw new Error(`${where} is an object of a class`)
  for (const [field, inner] of Object.entries(value)) isJson(inner, `${where}.${field}`)
}

function holds(kind: string, snapshot: Snapshot): void {
  isJson(snapshot)
  v.parse((kinds[kind] as (typeof kinds)[string]).snapshot, snapshot)
}

test('every built-in kind is looked at here', () => {
  expect(Object.keys(layersOfEachKind()).sort()).toEqual([...builtIn.keys()].sort())
})

describe.each(Object.keys(kinds))('inspect() of %s', (kind) => {
  const layer = () => layersOfEachKind()[kind] as Layer

  test('fits its schema when new, and when ten years have passed', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [layer()], { runtime: world })
    const look = () => (p.inspect()['layers'] as Snapshot[])[0] as Snapshot
    holds(kind, look())
    expect(look()).toMatchObject({ kind, path: `shop/${kind}` })
    world.advance('3650d')
    holds(kind, look())
  })

  test('fits it after every step of a busy hour', () => {
    const world = new VirtualRuntime({ seed: 3 })
    const random = seeded(5)
    const p = pipeline('shop', [layer()], { runtime: world })
    const verdicts: Verdict[] = ['success', 'failure', 'timeout', 'overload', 'ignored']
    for (let step = 0; step < 500; step++) {
      const ms = random() * 300
      const verdict = verdicts[Math.floor(random() * verdicts.length)] as Verdict
      const outcome = random() < 0.5 ? answered(1, verdict) : failed(new Error('x'), verdict, random() < 0.9)
      p.start(
        (_, done) => void world.after(ms, () => done(outcome)),
        () => {},
        { idempotent: random() < 0.5, key: Math.floor(random() * 6), cost: Math.floor(random() * 4) },
      )
      world.advance(random() * 7200)
      holds(kind, (p.inspect()['layers'] as Snapshot[])[0] as Snapshot)
      isJson(p.inspect())
    }
  })

  test('is a value: what one got does not change later', () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [layer()], { runtime: world })
    const before = p.inspect()
    const text = JSON.stringify(before)
    for (let i = 0; i < 5; i++)
      p.start(
        (_, done) => done(answered(1)),
        () => {},
      )
    expect(JSON.stringify(before)).toBe(text)
  })
})

test('a pipeline shows itself, and every layer with a path of its own', async () => {
  const world = new VirtualRuntime()
  const { breaker, bulkhead, retry } = layersOfEachKind() as Record<'breaker' | 'bulkhead' | 'retry', Layer>
  const p = pipeline('shop', [breaker, retry, bulkhead, breaker], { runtime: world })
  await p.call(() => 1)
  const snapshot = p.inspect()
  isJson(snapshot)
  expect(snapshot).toMatchObject({
    kind: 'pipeline',
    path: 'shop',
    running: 0,
    calls: { success: 1, failure: 0, timeout: 0, overload: 0, ignored: 0, refused: 0 },
    refusals: [],
    listenerFailures: 0,
  })
  expect((snapshot['layers'] as Snapshot[]).map((layer) => layer['path'])).toEqual([
    'shop/breaker',
    'shop/retry',
    'shop/bulkhead',
    'shop/breaker-2',
  ])
})

test('a policy without inspect() is shown by kind and path', () => {
  const plain: Layer = {
    kind: 'plain',
    options: {},
    build: (env) => ({ kind: 'plain', path: env.path, run: (call, next, done) => next(call, done) }),
  }
  const p = pipeline('shop', [plain], { runtime: new VirtualRuntime() })
  expect(p.inspect()['layers']).toEqual([{ kind: 'plain', path: 'shop/plain' }])
})

test('find() finds a layer by its path, whole or last part', () => {
  const { breaker } = layersOfEachKind()
  const p = pipeline('shop', [breaker as Layer], { runtime: new VirtualRuntime() })
  expect(p.find('breaker')).toBe(p.find('shop/breaker'))
  expect(p.find('breaker')?.kind).toBe('breaker')
  expect(p.find('nothing')).toBeUndefined()
})
