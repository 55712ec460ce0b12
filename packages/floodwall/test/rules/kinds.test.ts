import { breaker, bulkhead, kindOf, pipeline, snapshotOf, timeout } from 'floodwall'
import { builtIn, type Kinds, kindsOf, parseLayers } from 'floodwall/rules'
import { VirtualRuntime } from 'floodwall/testing'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'

test('every kind stands under its own name', () => {
  for (const [name, kind] of builtIn) {
    expect(kind.kind).toBe(name)
    expect([typeof kind, kind.options.type, kind.snapshot.type]).toEqual(['function', 'strict_object', 'strict_object'])
  }
})

test('two kinds of one name are refused', () => {
  expect(() => kindsOf(breaker, bulkhead, breaker)).toThrow(new RangeError('two kinds are called "breaker"'))
  expect(() => kindsOf(...builtIn.values(), timeout)).toThrow(RangeError)
})

test('an empty table, and names that objects have by nature', () => {
  const none: Kinds = kindsOf()
  expect(none.size).toBe(0)
  for (const kind of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', '']) {
    expect(() => parseLayers([{ kind }])).toThrow('layers[0].kind')
    expect(() => parseLayers([{ kind }], 'layers', none)).toThrow('layers[0].kind')
  }
})

describe('a kind of your own', () => {
  const door = kindOf({
    kind: 'door',
    options: v.strictObject({ open: v.optional(v.boolean(), true) }),
    snapshot: v.strictObject({ ...snapshotOf('door'), passed: v.number() }),
    build: ({ open }, env) => {
      let passed = 0
      return {
        kind: 'door',
        path: env.path,
        run(call, next, done) {
          if (open) passed++
          next(call, done)
        },
        inspect: () => ({ kind: 'door', path: env.path, passed }),
      }
    },
  })

  test('joins the others in code and in documents', async () => {
    const kinds = kindsOf(...builtIn.values(), door)
    const layers = parseLayers([{ kind: 'door' }, { kind: 'timeout', after: '1s' }], 'shop', kinds)
    const p = pipeline('shop', layers, { runtime: new VirtualRuntime() })
    expect(await p.call(() => 1)).toBe(1)
    expect(p.inspect()['layers']).toMatchObject([{ kind: 'door', passed: 1 }, { kind: 'timeout' }])
    expect(() => parseLayers([{ kind: 'door', open: 'yes' }], 'shop', kinds)).toThrow('shop[0].open')
  })

  test('needs no options when all are optional', () => {
    expect(door().options).toEqual({ open: true })
    expect(Object.isFrozen(door({ open: false }).options)).toBe(true)
  })
})

test('the settings of a layer are plain, frozen, defaults filled in, spans in milliseconds', () => {
  const { options } = breaker({ openFor: '2s' })
  expect(options).toMatchObject({ openFor: 2000, over: 10_000, failureRate: 0.5, probes: 3 })
  expect(Object.isFrozen(options)).toBe(true)
})
