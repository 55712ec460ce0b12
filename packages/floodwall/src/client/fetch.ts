import type { Call } from '../core/call.ts'
import type { Endpoint } from '../core/init.ts'
import { show } from '../core/schema.ts'
import { names } from '../wire/names.ts'
import { type About, splitAbout } from './about.ts'
import { targetOf } from './address.ts'
import { type Asked, asked } from './api.ts'
import { isShortJson, lookAtResponse } from './error-answer.ts'
import type { Wire } from './exchange.ts'
import type { Pools } from './pools.ts'
import type { Propagation } from './propagation.ts'
import { isRepeatable, isStream, isWhole } from './request-body.ts'
import { discardResponse, followResponse, hasBody } from './response-body.ts'

/** What `fetch` takes, and what is said about the request. */
export type FetchInit = Omit<RequestInit, keyof About> & About

/** Any function like the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What is sent, and what floodwall is told about it. Throws a TypeError on a path or headers that are none. */
export function splitInit(path: string, init: FetchInit): { request: RequestInit; about: Asked } {
  checkPath(path)
  const { about, rest } = splitAbout(init)
  const method = (rest.method ?? 'GET').toUpperCase()
  const { body } = rest
  // Read now: what is wrong here is no endpoint's fault.
  const request: RequestInit = { redirect: 'manual', ...rest, method, headers: new Headers(rest.headers) }
  if (isStream(body)) Object.assign(request, { duplex: 'half' })
  return { request, about: { ...asked(method, path, about), idempotent: isRepeatable(method, body), ...about } }
}

/** How a request gets to an endpoint. */
type Send = (endpoint: Endpoint, url: string, init: RequestInit) => Promise<Response>

/** With undici over the endpoint's pool; where it is not installed, with the global fetch, which has pools that we cannot close. */
export async function sender(pools: Pools): Promise<Send> {
  const undici = await pools.load()
  if (undici === undefined) return (_, url, init) => fetch(url, init)
  return (endpoint, url, init) =>
    pools.send(endpoint, undici, init.signal as AbortSignal, (dispatcher) => undici.fetch(url, { ...init, dispatcher }))
}

export function fetchWire(path: string, request: RequestInit, send: Send, propagation: Propagation): Wire<Response> {
  return {
    async send(call, signal) {
      const to = call.endpoint as Endpoint
      const headers = headersOf(call, request.headers as Headers, propagation)
      return send(to, targetOf(to).origin + path, { ...request, headers, signal })
    },
    whole: () => isWhole(request.body),
    status: (response) => response.status,
    header: (response, name) => response.headers.get(name),
    hasBody,
    follow: followResponse,
    discard: discardResponse,
    look: (response) =>
      response.body instanceof ReadableStream && isShortJson((name) => response.headers.get(name))
        ? lookAtResponse(response)
        : undefined,
  }
}

/** A copy for each attempt: another may still be reading its own. */
function headersOf(call: Call, own: Headers, propagation: Propagation): Headers {
  const headers = new Headers(own)
  for (const name of propagation.ours) headers.delete(name)
  const baggage = () => own.get(names.baggage) ?? ''
  propagation.write(call, baggage, (name, value) => headers.set(name, value))
  return headers
}

/** A path and nothing else: `//host/` or `@host` would send the request out of the cluster. */
export function checkPath(path: unknown): void {
  if (typeof path === 'string' && path.startsWith('/')) {
    const { origin } = new URL(`http://cluster.invalid${path}`)
    if (origin === 'http://cluster.invalid') return
  }
  throw new TypeError(`expected a path such as "/items?page=2", got ${show(path)}`)
}
