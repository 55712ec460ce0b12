import type { IncomingMessage } from 'node:http'
import type { Exchange } from '../exchange/exchange.ts'
import type { Entry } from './entry.ts'

// Entries are made when their request is over, and only where there is a log: while it runs it costs nothing.

export function entryOfExchange(exchange: Exchange, tookMs: number): Entry {
  const { request, id, route, head, latest, attempts, status, sentBytes, code, cut, peer } = exchange
  return {
    ...asked(request, tookMs),
    id,
    trace: head.trace,
    client: peer.address,
    route: route.id,
    upstream: latest?.upstream.id ?? '',
    attempts,
    status,
    sentBytes,
    code,
    cut,
  }
}

/** Of a request that was turned away by its head. */
export function entryOfRefused(
  request: IncomingMessage,
  client: string,
  id: string,
  status: number,
  code: string,
): Entry {
  return {
    ...asked(request, 0),
    id,
    trace: '',
    client,
    route: '',
    upstream: '',
    attempts: 0,
    status,
    sentBytes: 0,
    code,
    cut: false,
  }
}

type Asked = Pick<Entry, 'at' | 'method' | 'target' | 'version' | 'host' | 'referrer' | 'agent' | 'tookMs'>

function asked({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage, tookMs: number): Asked {
  const found = { at: Date.now() - tookMs, method, target: url, version: httpVersion, tookMs }
  return {
    ...found,
    host: valueOf(rawHeaders, 'host'),
    referrer: valueOf(rawHeaders, 'referer'),
    agent: valueOf(rawHeaders, 'user-agent'),
  }
}

/** The first line of that name. Not from `headers`, which parses all of them. */
function valueOf(raw: readonly string[], name: string): string {
  for (let i = 0; i < raw.length; i += 2) {
    const given = raw[i] as string
    if (given.length === name.length && given.toLowerCase() === name) return raw[i + 1] as string
  }
  return ''
}
