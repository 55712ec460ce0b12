import { type Gate, isConfigError, type Layer, type Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fromSentinelSystem } from '../../../src/compat/sentinel/index.ts'
import { ask } from '../../support/asks.ts'
import { Vectors } from '../../support/vectors.ts'

const made = (rules: unknown, signals = {}) =>
  fromSentinelSystem(rules, signals).layers.map(({ kind, options }) => ({ kind, ...options }))
const notes = (rules: unknown, signals = {}) =>
  fromSentinelSystem(rules, signals).notes.map(({ path, kind }) => `${path} ${kind}`)

function faults(rules: unknown): string[] {
  try {
    fromSentinelSystem(rules)
  } catch (error) {
    if (isConfigError(error)) return error.issues.map(({ path, expected }) => `${path}: ${expected}`)
    throw error
  }
  return []
}

describe('rules of Go', () => {
  const go = (metricType: number, triggerCount: number, strategy = -1) => ({
    id: 'r',
    metricType,
    triggerCount,
    strategy,
  })

  test('each metric', () => {
    const cpu = () => 0.5
    const rules = [go(3, 100), go(2, 64), go(4, 0.7, 1), go(0, 2, 1), go(1, 50)]
    expect(made(rules, { cpu, load: () => 1 })).toMatchObject([
      { kind: 'rateLimit', rate: 100 },
      { kind: 'bulkhead', slots: 64 },
      { kind: 'bbr', above: 0.7, cpu },
      { kind: 'bbr', above: 0.5, weight: 1 },
    ])
    expect(notes(rules, { cpu, load: () => 1 })).toEqual([
      '[0].triggerCount changed',
      '[2].triggerCount changed',
      '[4].triggerCount ignored',
    ])
  })

  test('as JSON; part of a request at once is one', () => {
    expect(made(JSON.stringify([go(2, 1.5)]))).toMatchObject([{ kind: 'bulkhead', slots: 2 }])
  })

  test('what is not honoured is named', () => {
    expect(notes([go(0, 2, 1)])).toEqual(['[0].triggerCount ignored'])
    expect(notes([go(4, 0.7, -1)])).toEqual(['[0].triggerCount changed', '[0].triggerCount changed'])
    expect(notes([go(4, 0.7, 0)])).toEqual(['[0].triggerCount changed', '[0].triggerCount changed'])
    expect(notes([{ ...go(2, 3, 1), colour: 'red' }])).toEqual(['[0].colour ignored', '[0].strategy ignored'])
    expect(notes([{ metricType: 2 }])).toEqual(['[0].triggerCount ignored'])
  })

  test('a fault makes nothing, and all are listed', () => {
    expect(faults([go(5, 1), go(4, 80), go(2, -1), 7])).toEqual([
      '[0].metricType: 0 to 4 (load, avgRT, concurrency, inboundQPS, cpuUsage)',
      '[1].triggerCount: a share above 0 and at most 1 (0.5 is 50 %)',
      '[2].triggerCount: a number of 0 or more',
      '[3]: a rule',
    ])
    expect(faults('{}')).toEqual(['rules: a list of rules'])
  })
})

describe('rules of Java', () => {
  test('five numbers in one, those below 0 being off', () => {
    const rule = { highestSystemLoad: -1, highestCpuUsage: 0.8, qps: 20, avgRt: -1, maxThread: 10 }
    expect(made([rule]).map(({ kind }) => kind)).toEqual(['bulkhead', 'rateLimit', 'bbr'])
    expect(faults([{ highestCpuUsage: 80 }])).toEqual([
      '[0].highestCpuUsage: a share above 0 and at most 1 (0.5 is 50 %)',
    ])
  })
})

describe('on the recorded steps', () => {
  type Step = readonly [tMs: number, op: string, id: number, ...rest: readonly unknown[]]
  const vectors = new Vectors<undefined, Step>('sentinel-system.json')

  test.each(['inbound-qps', 'inbound-concurrency'])('%s: the layer decides as it did there', (name) => {
    const found = vectors.cases.find((one) => one.name === name) as unknown as { rule: object; steps: readonly Step[] }
    const [layer] = fromSentinelSystem([found.rule]).layers as [Layer]
    const world = new VirtualRuntime({ startAt: found.steps[0]?.[0] ?? 0 })
    const gate = layer.build(world.env('api')) as Gate
    const inside = new Map<number, Permit>()
    for (const [tMs, op, id, way, passed] of found.steps) {
      world.advance(tMs - world.now())
      if (op === 'exit') inside.get(id)?.settle('success', 1, tMs)
      // Outbound entries do not come to a server's door.
      else if (way === 'inbound') {
        const answer = gate.tryAcquire(ask(tMs))
        expect(answer.ok, `${tMs}`).toBe(passed)
        if (answer.ok) inside.set(id, answer)
      }
    }
  })

  test('load above its trigger puts it on guard, equal to it does not', () => {
    let load = 2
    const [layer] = fromSentinelSystem([{ metricType: 0, triggerCount: 2, strategy: 1 }], { load: () => load })
      .layers as [Layer]
    const world = new VirtualRuntime()
    const gate = layer.build(world.env('api')) as Gate
    const enter = () =>
      Array.from({ length: 30 }, () => gate.tryAcquire(ask(world.now()))).filter(({ ok }) => ok).length
    expect(enter()).toBe(30)
    load = 2.01
    world.advance(250)
    expect(enter()).toBe(0)
  })
})
