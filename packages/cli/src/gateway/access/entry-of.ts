import type { IncomingMessage } from 'node:http'
import type { Exchange } from '../exchange/exchange.ts'
import type { Entry } from './entry.ts'

// Entries are made when their request is over, and only where there is a log: while it runs it costs nothing.

export function entryOfExchange(exchange: Exchange, tookMs: number, { id: upstream } = serverOf(exchange)): Entry {
  const { request, id, route, head, attempts, status, sentBytes, code, cut } = exchange
  return entry(request, tookMs, id, head.trace, head.client, route.id, upstream, attempts, status, sentBytes, code, cut)
}

const nobody = { id: '' }

function serverOf({ chosen, latest }: Exchange): { readonly id: string } {
  return (chosen ?? latest)?.upstream ?? nobody
}

type Asked = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'rawHeaders'>

/** What the parser could not read. */
const illegible: Asked = { method: '', url: '', httpVersion: '', rawHeaders: [] }

/** Of a request that was turned away by its head, or that was none. */
export function entryOfRefused(
  request: IncomingMessage | undefined,
  client: string,
  id: string,
  status: number,
  code: string,
): Entry {
  return entry(request ?? illegible, 0, id, '', client, '', '', 0, status, 0, code, false)
}

/** One literal: put together from pieces it would cost ten times as much. */
function entry(
  { method = '', url = '', httpVersion, rawHeaders }: Asked,
  tookMs: number,
  id: string,
  trace: string,
  client: string,
  route: string,
  upstream: string,
  attempts: number,
  status: number,
  sentBytes: number,
  code: string,
  cut: boolean,
): Entry {
  // Not from `headers`, which parses all of them; the first line of each name counts.
  let host = ''
  let referrer = ''
  let agent = ''
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    switch (name.length) {
      case 4:
        if (host === '' && name.toLowerCase() === 'host') host = rawHeaders[i + 1] as string
        break
      case 7:
        if (referrer === '' && name.toLowerCase() === 'referer') referrer = rawHeaders[i + 1] as string
        break
      case 10:
        if (agent === '' && name.toLowerCase() === 'user-agent') agent = rawHeaders[i + 1] as string
        break
    }
  }
  return {
    at: Date.now() - tookMs,
    id,
    trace,
    client,
    method,
    target: url,
    version: httpVersion,
    host,
    referrer,
    agent,
    route,
    upstream,
    attempts,
    status,
    sentBytes,
    code,
    cut,
    tookMs,
  }
}
