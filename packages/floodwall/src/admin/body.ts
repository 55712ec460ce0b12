import type { IncomingMessage } from 'node:http'
import { ConfigError } from '../core/errors.ts'
import type { Env } from '../core/runtime.ts'
import { show } from '../core/schema.ts'
import { hasBody } from '../server/unread-body.ts'
import { Refusal } from './answer.ts'

// What does an operator want, in JSON, and in how much of it?
//
// Bounded in bytes and in time, and of one type: a page elsewhere can send a form in an operator's name, but no JSON (Fetch, "simple requests").
//
// Invariant: the promise ends, whatever the client does; afterwards nothing of ours listens to the request, and no timer runs.

/** 1000 keys of 60 bytes, and more than a human writes. */
const MOST_BYTES = 64 * 1024
/** As long as a listener of ours gives a whole request. */
const WITHIN_MS = 5000

/** The client has left: there is nobody to answer. */
export class Gone extends Error {}

/** What the body of `request` says, `{}` for none. Rejects with a {@link Refusal}, or with {@link Gone}. */
export async function jsonOf(request: IncomingMessage, env: Env): Promise<unknown> {
  const { 'content-type': type, 'content-encoding': coding, 'content-length': length } = request.headers
  // A request of HTTP/2 may have a body that no header tells of: nothing comes of it, or something without a type.
  if (!hasBody(request) && type === undefined) return {}
  if (type === undefined || !/^application\/json *(?:; *charset="?utf-8"? *)?$/i.test(type)) {
    throw new Refusal(
      415,
      `content-type: expected application/json, got ${type === undefined ? 'none' : JSON.stringify(type)}`,
    )
  }
  if (coding !== undefined) throw new Refusal(415, `content-encoding: expected none, got ${JSON.stringify(coding)}`)
  if (Number(length) > MOST_BYTES) throw tooLarge()
  if (request.readableEnded)
    throw new Refusal(500, 'The body was read before: mount this in front of what reads bodies.')
  return parsed(await bytesOf(request, env))
}

function bytesOf(request: IncomingMessage, env: Env): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const end = (settle: () => void): void => {
      cancel()
      request.off('data', read).off('end', whole).off('close', left).off('error', left)
      settle()
    }
    const read = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > MOST_BYTES) end(() => reject(tooLarge()))
      else chunks.push(chunk)
    }
    const whole = (): void => end(() => resolve(Buffer.concat(chunks)))
    const left = (): void => end(() => reject(new Gone()))
    const cancel = env.after(WITHIN_MS, () => end(() => reject(new Refusal(408, 'The body took too long.'))), true)
    request.on('data', read).once('end', whole).once('close', left).once('error', left)
  })
}

function tooLarge(): Refusal {
  return new Refusal(413, `The body has more than ${MOST_BYTES} bytes.`)
}

function parsed(bytes: Buffer): unknown {
  if (bytes.length === 0) return {}
  let text: string
  try {
    // Bytes that are no UTF-8 are keys that nobody meant.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Refusal(400, 'body: expected JSON in UTF-8')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Refusal(400, `body: expected JSON: ${(error as Error).message}`)
  }
  // A list has fields of its own, too, such as `keys`.
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new ConfigError([{ path: 'body', value: show(value), expected: 'an object' }])
}
