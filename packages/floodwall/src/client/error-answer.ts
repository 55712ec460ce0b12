import { Readable } from 'node:stream'
import { arrayBuffer, blob, json, text } from 'node:stream/consumers'
import type { ResponseData } from './undici.ts'

// What does an error say in its body, and who gets the body then?
//
// Some servers put the pause they ask for into the body alone (`RetryInfo`). Only what is said to be JSON and short is read, so that an error
// page or a stream of errors is passed on untouched; and whoever gets the answer gets the body as if nobody had looked.

/** Error bodies are short; a longer one is not read. In bytes. */
const MOST_BYTES = 65_536
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i
const DIGITS = /^\d{1,5}$/

/** An answer whose body was looked at. */
export interface Looked<A> {
  readonly answer: A
  /** The whole body; undefined when it broke off, or was longer than it said. */
  readonly text: string | undefined
}

/** By its headers: an error that says in JSON, shortly, what is wrong. */
export function isShortJson(header: (name: string) => string | null | undefined): boolean {
  const length = header('content-length')
  if (length == null || !DIGITS.test(length) || Number(length) > MOST_BYTES || Number(length) === 0) return false
  // What is coded would have to be decoded first.
  return JSON_TYPE.test(header('content-type') ?? '') && (header('content-encoding') ?? 'identity') === 'identity'
}

/** Reads a copy: the response stays the one that fetch made. Never rejects. */
export async function lookAtResponse(answer: Response): Promise<Looked<Response>> {
  const chunks: Uint8Array[] = []
  try {
    const reader = (answer.clone().body as ReadableStream<Uint8Array>).getReader()
    let bytes = 0
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      chunks.push(part.value)
      bytes += part.value.length
      // A function like fetch may say what it likes.
      if (bytes > MOST_BYTES) {
        reader.cancel().catch(() => {})
        return { answer, text: undefined }
      }
    }
  } catch {
    return { answer, text: undefined }
  }
  return { answer, text: Buffer.concat(chunks).toString() }
}

/** Reads the body, and gives the answer another with the same content. Never rejects. */
export async function lookAtData(answer: ResponseData): Promise<Looked<ResponseData>> {
  const chunks: Buffer[] = []
  let broken: { readonly error: unknown } | undefined
  try {
    for await (const chunk of answer.body) chunks.push(chunk as Buffer)
  } catch (error) {
    broken = { error }
  }
  const content = broken === undefined ? Buffer.concat(chunks).toString() : undefined
  return { answer: { ...answer, body: again(chunks, broken) }, text: content }
}

/** A body of undici's shape. */
function again(chunks: readonly Buffer[], broken: { readonly error: unknown } | undefined): ResponseData['body'] {
  function* content(): Generator<Buffer> {
    yield* chunks
    if (broken !== undefined) throw broken.error
  }
  const body = Readable.from(content(), { objectMode: false })
  const methods = {
    text: () => text(body),
    json: () => json(body),
    arrayBuffer: () => arrayBuffer(body),
    blob: () => blob(body),
    bytes: async () => new Uint8Array(await arrayBuffer(body)),
    async dump() {
      body.destroy()
    },
  }
  Object.defineProperty(body, 'bodyUsed', { get: () => Readable.isDisturbed(body) })
  return Object.assign(body, methods)
}
