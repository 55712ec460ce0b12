import type { Criticality } from '../core/init.ts'

// How much does a request matter? Four classes, from "Site Reliability Engineering", ch. 21; on the wire as that book writes them.

const byName: ReadonlyMap<string, Criticality> = new Map([
  ['CRITICAL_PLUS', 'criticalPlus'],
  ['CRITICAL', 'critical'],
  ['SHEDDABLE_PLUS', 'sheddablePlus'],
  ['SHEDDABLE', 'sheddable'],
])

const nameOf: Readonly<Record<Criticality, string>> = {
  criticalPlus: 'CRITICAL_PLUS',
  critical: 'CRITICAL',
  sheddablePlus: 'SHEDDABLE_PLUS',
  sheddable: 'SHEDDABLE',
}

/** The class that `text` names, in upper case as written; undefined for anything else. */
export function readCriticality(text: string): Criticality | undefined {
  return byName.get(text)
}

export function writeCriticality(criticality: Criticality): string {
  return nameOf[criticality]
}
