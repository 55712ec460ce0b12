import type { Layer } from '../../core/layer.ts'
import { bool, identity, resourceName, text } from './dialects.ts'
import { Fields, Findings, type SentinelNote } from './findings.ts'
import { type ImportedRule, listOf, MOST_RULES_OF_ONE } from './from-sentinel.ts'

// What do all imports of rules for resources have in common?
//
// A list, read rule by rule and field by field; layers by resource, in the order of the rules; notes on what is not honoured as it stands; and one
// error for all faults, after which nothing has been made.

/** What became of a document of rules. */
export interface SentinelLayers {
  /** By resource, in the order of the rules. */
  readonly layers: ReadonlyMap<string, readonly Layer[]>
  readonly rules: readonly ImportedRule[]
  /** Every field that is not honoured as it stands. */
  readonly notes: readonly SentinelNote[]
}

/** Makes the layers of one rule, outermost first; called when the whole document is without a fault, since options of no sense throw. */
export type MakeLayers = () => readonly Layer[]

/** Reads one rule; undefined: it is left out, and a note says why. */
export type ReadRule = (fields: Fields) => MakeLayers | undefined

/** @throws ConfigError that lists every fault with path, value and expectation */
export function importLayers(rules: unknown, readRule: ReadRule): SentinelLayers {
  const findings = new Findings()
  const counts = new Map<string, number>()
  const made = listOf(rules).flatMap((raw, i) => {
    const at = `[${i}]`
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
      findings.fault(at, raw, 'a rule')
      return []
    }
    const fields = new Fields(raw as Record<string, unknown>, at, findings)
    const id = fields.read('id', identity)
    const resource = fields.read('resource', resourceName)
    const make = readRule(fields)
    if (resource === undefined || resource === '') {
      fields.note('ignored', 'resource', 'a rule without a resource is about nothing: it is left out, as in Sentinel')
      return []
    }
    if (make === undefined) return []
    const count = (counts.get(resource) ?? 0) + 1
    counts.set(resource, count)
    if (count === MOST_RULES_OF_ONE + 1)
      findings.fault(`${at}.resource`, resource, `at most ${MOST_RULES_OF_ONE} rules for one resource`)
    return [{ at, id, resource, make }]
  })
  findings.check()
  const layers = new Map<string, Layer[]>()
  const places = made.map(({ at, id, resource, make }): ImportedRule => {
    const mine = layers.get(resource) ?? []
    layers.set(resource, mine)
    const before = mine.length
    mine.push(...make())
    return { at, id, resource, place: placeOf(mine, before) }
  })
  return { layers, rules: places, notes: findings.notes }
}

/** As a pipeline of these layers calls it: kind and ordinal. */
function placeOf(layers: readonly Layer[], at: number): string {
  const kind = layers[at]?.kind ?? ''
  const ordinal = layers.slice(0, at + 1).filter((layer) => layer.kind === kind).length
  return ordinal === 1 ? kind : `${kind}-${ordinal}`
}

/** What rules of Java say about whom they are for, and where they are counted. */
export function noteScope(fields: Fields): void {
  const callers = fields.read('limitApp', text) ?? 'default'
  if (callers !== 'default' && callers !== '') fields.note('ignored', 'limitApp', 'callers are not told apart')
  if (fields.says('regex') && fields.read('regex', bool) === true)
    fields.note('ignored', 'regex', 'the resource is taken as a name, not as a pattern')
  if (fields.says('clusterMode') && fields.read('clusterMode', bool) === true)
    fields.note('ignored', 'clusterMode', 'counted in this process alone')
}
