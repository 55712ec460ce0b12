import type { Endpoint, Init } from '../core/init.ts'
import { show } from '../core/schema.ts'
import { splitAbout } from './about.ts'
import { targetOf } from './address.ts'
import type { Wire } from './exchange.ts'
import type { Pools } from './pools.ts'
import { isRepeatable, isStream, isWhole } from './request-body.ts'
import { discardResponse, followResponse } from './response-body.ts'

/** What `fetch` takes, and what an {@link Init} has. */
export type FetchInit = Omit<RequestInit, 'signal' | keyof Init> & Init

/** Any function like the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What is sent, and what floodwall is told about it. Throws a TypeError on a path or headers that are none. */
export function splitInit(path: string, init: FetchInit): { request: RequestInit; about: Init } {
  checkPath(path)
  const { about, rest } = splitAbout(init)
  const method = (rest.method ?? 'GET').toUpperCase()
  const { body } = rest
  // Read now: what is wrong here is no endpoint's fault.
  const request: RequestInit = { redirect: 'manual', ...rest, method, headers: new Headers(rest.headers) }
  if (isStream(body)) Object.assign(request, { duplex: 'half' })
  return { request, about: { idempotent: isRepeatable(method, body), ...about } }
}

/** Sends with `own`, or undici over the endpoint's pool, or the global fetch. */
export function fetchWire(path: string, request: RequestInit, pools: Pools, own?: Fetch): Wire<Response> {
  const send = async (endpoint: Endpoint, signal: AbortSignal): Promise<Response> => {
    const url = targetOf(endpoint).origin + path
    if (own !== undefined) return own(url, { ...request, signal })
    const undici = await pools.load()
    if (undici === undefined) return fetch(url, { ...request, signal })
    if (request.redirect === 'follow') throw new TypeError('redirects are not followed: they would leave the cluster')
    return undici.fetch(url, { ...request, signal, dispatcher: pools.of(endpoint, undici) })
  }
  return {
    send: (call, signal) => send(call.endpoint as Endpoint, signal),
    whole: () => isWhole(request.body),
    status: (response) => response.status,
    header: (response, name) => response.headers.get(name),
    follow: followResponse,
    discard: discardResponse,
  }
}

/** A path and nothing else: `//host/` or `@host` would send the request out of the cluster. */
export function checkPath(path: unknown): void {
  if (typeof path === 'string' && path.startsWith('/')) {
    const { origin } = new URL(`http://cluster.invalid${path}`)
    if (origin === 'http://cluster.invalid') return
  }
  throw new TypeError(`expected a path such as "/items?page=2", got ${show(path)}`)
}
