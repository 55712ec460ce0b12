import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { Ewma } from '../algorithms/stats/ewma.ts'
import type { Bytes } from '../core/bytes.ts'
import { unitsOrBytes } from '../core/rate-schema.ts'
import { parse, type Schema } from '../core/schema.ts'
import type { AnyRequest } from './call-of.ts'

// How many bytes does a request bring?
//
// For the option `cost` of the adapters, before limits whose rate is in bytes. Whoever declares a length is held to it by HTTP: it is neither more nor less.
// A chunked body says nothing, and nobody can know before it is here: it is charged what such bodies have had lately on average, whoever sent them, and never
// less than a least: else a crowd of tiny ones would make the next one free. Layers correct costs in time and no others, so that this charge stands; where each
// byte counts, the body itself passes a `bandwidth`.
//
// `Content-Length: 5000` costs 5000, a GET nothing, a chunked body 64 KiB at first; after a hundred of them with 1 MB each, 1 MB; after a hundred of one byte, 64 KiB.
//
// Invariant: never throws; what is answered is a finite number of 0 or more.

/** What a chunked body is taken for at least: half of them are smaller, and an upload in pieces is larger. */
const UNKNOWN_BYTES = '64KiB'
/** Of what a body has shown, so much is believed at once: some twenty of them say what is usual. */
const WEIGHT = 0.1

const bodyCostOptions = v.strictObject({
  /** Each request costs at least so much: a head is not free, nor is what it starts. Default 0. */
  least: v.optional(unitsOrBytes, 0),
  /** The least cost of a body that does not say how long it is, and its cost before any has come. Default 64 KiB. */
  otherwise: v.optional(unitsOrBytes, UNKNOWN_BYTES),
})

export interface BodyCostOptions {
  readonly least?: Bytes
  readonly otherwise?: Bytes
}

/** The bytes of a request's body: `createServer(guard(handler, { cost: byBytes() }))` before `rateLimit({ rate: '10MB/s' })`. */
export function byBytes(options: BodyCostOptions = {}): (request: AnyRequest) => number {
  const { least, otherwise } = parse(bodyCostOptions as Schema<unknown, Settings>, options, 'byBytes')
  const usual = new Ewma(WEIGHT)
  return (request) => {
    const node = 'raw' in request ? request.raw : request
    const declared = declaredBytes(node)
    if (declared !== undefined) return Math.max(least, declared)
    count(node, usual)
    return Math.max(least, otherwise, usual.samples === 0 ? 0 : usual.value)
  }
}

type Settings = v.InferOutput<typeof bodyCostOptions>

/** What it says of its length; undefined where only its end will tell. */
function declaredBytes(request: IncomingMessage): number | undefined {
  const { headers, httpVersionMajor } = request
  // Both at once are an attack (RFC 9112, 6.3), and the coding is what counts.
  if (headers['transfer-encoding'] !== undefined) return undefined
  const length = headers['content-length']
  // HTTP/1 without either has no body; the streams of HTTP/2 say by a flag that they have ended.
  if (length === undefined) return httpVersionMajor < 2 || hasEnded(request) ? 0 : undefined
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined
}

function hasEnded(request: IncomingMessage): boolean {
  return (request as { readonly stream?: { readonly endAfterHeaders?: boolean } }).stream?.endAfterHeaders === true
}

/** Counts what comes, without reading it: who reads is the handler. */
function count(request: IncomingMessage, usual: Ewma): void {
  let bytes = 0
  const push = request.push.bind(request)
  request.push = (chunk: unknown, encoding?: BufferEncoding) => {
    bytes += (chunk as { readonly length?: number } | null)?.length ?? 0
    return push(chunk, encoding)
  }
  request.once('close', () => {
    // Of one that was broken off, by its sender or by us, what came is less than all: it can say that bodies are larger, and not that they are smaller.
    if (request.complete || bytes > usual.value) usual.record(bytes)
  })
}
