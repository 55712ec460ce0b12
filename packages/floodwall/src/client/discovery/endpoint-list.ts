import * as v from 'valibot'
import type { Endpoint } from '../../core/init.ts'
import { amountOrZero, parse } from '../../core/schema.ts'

/** More endpoints than this are a mistake, or an attack. */
export const MOST_ENDPOINTS = 10_000

const ID = '1 to 255 printable characters without a space'

const entries = {
  id: v.pipe(v.string(ID), v.regex(/^[\x21-\x7e]{1,255}$/, ID)),
  address: v.optional(v.string('an address such as "http://10.0.0.1:8080"')),
  weight: v.optional(amountOrZero),
  zone: v.optional(v.string('the name of a zone')),
}

const fromId = v.pipe(
  entries.id,
  v.transform((id) => ({ id })),
)

const listOf = <E extends v.GenericSchema<unknown, unknown>>(endpoint: E) =>
  v.pipe(v.array(endpoint, 'a list of endpoints'), v.maxLength(MOST_ENDPOINTS, `at most ${MOST_ENDPOINTS} endpoints`))

/** Written by people: a field that we do not know is a typing error. */
const writtenList = listOf(
  v.union([fromId, v.strictObject(entries)], 'an endpoint: an id, or { id, address, weight, zone }'),
)
/** Made by programs: further fields are theirs. */
const madeList = listOf(v.looseObject(entries))

/** The endpoints of a list as people write it, ids or objects. Throws a ConfigError. */
export function writtenEndpoints(list: unknown, path: string): Endpoint[] {
  return distinct(parse(writtenList, list, path) as Endpoint[])
}

/** The endpoints that a discovery has found. Throws a ConfigError. */
export function foundEndpoints(list: unknown, path: string): Endpoint[] {
  return distinct(parse(madeList, list, path) as Endpoint[])
}

/** The first of each id: DNS repeats addresses, and people repeat lines. */
function distinct(endpoints: readonly Endpoint[]): Endpoint[] {
  const byId = new Map<string, Endpoint>()
  for (const endpoint of endpoints) if (!byId.has(endpoint.id)) byId.set(endpoint.id, endpoint)
  return [...byId.values()]
}
