import type { Init } from '../core/init.ts'

/** The fields of an {@link Init}, and the rest. Absent stays absent. */
export function splitAbout<T extends Init>(all: T): { about: Init; rest: Omit<T, keyof Init> } {
  const { parent, within, signal, criticality, cost, key, idempotent, data, classify, ...rest } = all
  const fields = { parent, within, signal, criticality, cost, key, idempotent, data, classify }
  const about = Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
  return { about, rest: rest as Omit<T, keyof Init> }
}
