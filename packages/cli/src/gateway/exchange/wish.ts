import type { IncomingHttpHeaders } from 'node:http'
import { noWish, type Pushback, pushbackOfBody, pushbackOfBoth, pushbackOfHeaders } from 'floodwall/wire'

// What does a server that says no wish the gateway to do?
//
// Its headers say it, or its body where that is short, JSON and here already: nobody waits for a body to learn more.

/** Longest pause that an upstream may ask for: a hostile or mistaken one must not silence a caller for ever. */
const LONGEST_PAUSE_MS = 300_000
/** Error bodies are short; a longer one is not read. In bytes. */
const MOST_BYTES = 65_536
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i

/** `body` in its parts; null: it is not whole, or there is none. */
export function wishOf(headers: IncomingHttpHeaders, body: readonly Buffer[] | null): Pushback {
  const said = pushbackOfHeaders((name) => headers[name], Date.now())
  const text = body === null ? undefined : textOf(headers, body)
  const { retryAfterMs, noRetry } = text === undefined ? said : pushbackOfBoth(said, pushbackOfBody(text))
  return retryAfterMs === 0 && !noRetry ? noWish : { retryAfterMs: Math.min(retryAfterMs, LONGEST_PAUSE_MS), noRetry }
}

function textOf(headers: IncomingHttpHeaders, body: readonly Buffer[]): string | undefined {
  // What is coded would have to be decoded first.
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return undefined
  if (!JSON_TYPE.test(String(headers['content-type'] ?? ''))) return undefined
  let bytes = 0
  for (const part of body) bytes += part.length
  return bytes === 0 || bytes > MOST_BYTES ? undefined : Buffer.concat(body).toString()
}
