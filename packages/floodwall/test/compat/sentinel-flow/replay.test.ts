import { describe, expect, test } from 'vitest'
import { SentinelIsolation } from '../../../src/compat/sentinel/flow-isolation.ts'
import { SentinelFlow, type SentinelFlowRule } from '../../../src/compat/sentinel/index.ts'
import { Vectors } from '../../support/vectors.ts'

type Enter = readonly [
  atMs: number,
  op: string,
  batch: number,
  passed: boolean,
  waitNs: number,
  allowed?: number,
  stored?: number,
]
type Inside = readonly [atMs: number, op: string, id: number, ...seen: unknown[]]

interface FlowCase {
  readonly name: string
  readonly level: 'entry' | 'isolation'
  readonly rule?: SentinelFlowRule
  readonly rules?: readonly SentinelFlowRule[]
  readonly derived?: { readonly warningToken: number; readonly maxToken: number; readonly slope: number }
  readonly config: undefined
  readonly steps: readonly Enter[]
}

const vectors = new Vectors<undefined, Enter | Inside>('sentinel-flow.json')
const cases = vectors.cases as unknown as readonly FlowCase[]
const flows = cases.filter(({ level }) => level === 'entry')
const isolations = cases.filter(({ level }) => level === 'isolation')

describe('the replica of the flow rules replays Sentinel', () => {
  test.each(flows)('$name: $description', (recorded) => {
    const flow = new SentinelFlow()
    const rules = recorded.rules ?? [recorded.rule!]
    flow.loadRules(rules)
    const id = rules[0]!.id!
    const { derived } = recorded
    if (derived !== undefined) expect(flow.warmUp(id)).toMatchObject(derived)
    vectors.replay(recorded, (step) => {
      const [now, op, batch] = step as Enter
      const resource = op.startsWith('enter:') ? op.slice('enter:'.length) : rules[0]!.resource
      const answer = flow.enter(resource, batch, now)
      const warmUp = flow.warmUp(id)
      const numbers = warmUp === undefined ? [] : [flow.allowed(id), warmUp.stored]
      expect([now, op, batch, answer.pass, answer.pass ? answer.waitNs : 0, ...numbers]).toEqual(step)
    })
  })
})

describe('the replica of isolation replays Sentinel', () => {
  test.each(isolations)('$name: $description', (recorded) => {
    const isolation = new SentinelIsolation((recorded.rule as { threshold: number }).threshold)
    vectors.replay(recorded, (step) => {
      const [now, op, id, batch] = step as Inside
      if (op === 'exit') {
        isolation.exit()
        expect([now, op, id, isolation.inFlight]).toEqual(step)
      } else expect([now, op, id, batch, isolation.enter(batch as number), isolation.inFlight]).toEqual(step)
    })
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect([vectors.replayed, vectors.steps]).toEqual([2946, 2946])
    expect([flows.length, isolations.length]).toEqual([29, 2])
  })
})

describe('what no recording says', () => {
  test.each([
    [[{ resource: 'r', threshold: Number.NaN }], 'rules[0].threshold: expected a number'],
    [[{ resource: 'r', controlBehavior: 2 }], 'rules[0].controlBehavior: expected 0 (Reject) or 1 (Throttling)'],
    [[{ resource: 'r', regex: true } as never], 'rules[0].regex: expected no such field'],
  ])('%j is no rule', (rules, message) => expect(() => new SentinelFlow().loadRules(rules)).toThrow(message))

  test('names may stand for numbers, and a refusal says whose it is', () => {
    const flow = new SentinelFlow()
    flow.loadRules([{ resource: 'r', threshold: 1, tokenCalculateStrategy: 'Direct', controlBehavior: 'Reject' }])
    expect([flow.enter('r', 1, 0), flow.enter('r', 1, 0), flow.enter('other', 9, 0)]).toEqual([
      { pass: true, waitNs: 0 },
      { pass: false, blockedBy: 'r' },
      { pass: true, waitNs: 0 },
    ])
  })
})
