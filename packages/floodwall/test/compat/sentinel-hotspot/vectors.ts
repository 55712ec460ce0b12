import * as v from 'valibot'
import { type SentinelHotspotValues, sentinelHotspotRule } from '../../../src/compat/sentinel/hotspot-rule.ts'
import { Vectors } from '../../support/vectors.ts'

// The recording of Sentinel's hotspot rules, by the form of its steps.

export type CheckStep = readonly [
  now: number,
  op: 'check',
  value: unknown,
  batch: number,
  answer: 'pass' | 'wait' | 'block',
  waitMs: number,
  tokens: number | null,
  lastMs: number | null,
  known?: readonly unknown[],
]

export interface EntryStep {
  readonly t_ms: number
  readonly op: 'enter' | 'exit' | 'load_rules'
  readonly id?: number
  readonly args?: readonly unknown[]
  readonly attachments?: Readonly<Record<string, unknown>>
  readonly batch?: number
  readonly pass?: boolean
  readonly blocked_by?: string
  readonly wait_ms?: number
  readonly rules?: readonly object[]
  readonly changed?: boolean
  readonly active?: readonly string[]
  readonly concurrency?: readonly { readonly rule: string; readonly in_flight_lru_first: readonly unknown[] }[]
  readonly qps?: readonly { readonly rule: string; readonly tokens_lru_first: readonly unknown[] }[]
}

interface Recorded<Step> {
  readonly name: string
  readonly level: 'controller' | 'entry'
  readonly quirk?: boolean
  readonly description: string
  readonly rule: object
  readonly steps: readonly Step[]
}

export const vectors: Vectors<undefined, CheckStep | EntryStep> = new Vectors('sentinel-hotspot.json')
const cases = vectors.cases as unknown as readonly Recorded<never>[]

export const controllerCases = cases.filter(
  ({ level }) => level === 'controller',
) as unknown as readonly Recorded<CheckStep>[]
export const entryCases = cases.filter(({ level }) => level === 'entry') as unknown as readonly Recorded<EntryStep>[]

/** A rule of the recording, as it is read. */
export function rulesOf(rule: object): SentinelHotspotValues {
  return v.parse(sentinelHotspotRule, rule)
}

export function controllerCase(name: string): Recorded<CheckStep> {
  return controllerCases.find((recorded) => recorded.name === name) as Recorded<CheckStep>
}

export function entryCase(name: string): Recorded<EntryStep> {
  return entryCases.find((recorded) => recorded.name === name) as Recorded<EntryStep>
}
