import type { Init } from '../core/init.ts'

/** What a caller may say about a request besides the request itself: an {@link Init}, whose `method` is called `route` here; it has not waited anywhere, and its user (`key`) says where
 * it stands. */
export interface About extends Omit<Init, 'method' | 'waitedMs' | 'cohort' | 'standsFor'> {
  /**
   * A name for requests that cost alike and are held back together, from a small set: `'GET /items/:id'`. Default: the HTTP method, and for
   * pauses that a server asks for the path without its ids: `'GET /items/{id}'`.
   */
  readonly route?: string
}

/** The fields of an {@link About}, and the rest. Absent stays absent. */
export function splitAbout<T extends About>(all: T): { about: Init; rest: Omit<T, keyof About> } {
  const { parent, within, signal, criticality, cost, key, route, idempotent, data, parameters, classify, ...rest } = all
  const fields = {
    parent,
    within,
    signal,
    criticality,
    cost,
    key,
    method: route,
    idempotent,
    data,
    parameters,
    classify,
  }
  const about = Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
  return { about, rest }
}
