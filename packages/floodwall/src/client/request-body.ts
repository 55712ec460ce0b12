import { Readable } from 'node:stream'

/** Methods that do no harm when they are executed twice (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** True when sending the request twice does no harm, and can be done: a stream is read once. */
export function isRepeatable(method: string, body: unknown): boolean {
  return IDEMPOTENT.has(method) && !isStream(body)
}

/** True when nobody has read of the body yet, or it can be read any number of times. */
export function isWhole(body: unknown): boolean {
  if (!isStream(body)) return true
  const { locked } = body as { locked?: unknown }
  const known = body instanceof Readable || locked !== undefined
  return known && locked !== true && !Readable.isDisturbed(body as Readable)
}

/** Streams of Node and of the web, generators: what gives its content once. */
export function isStream(body: unknown): body is object {
  return typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || 'getReader' in body)
}
