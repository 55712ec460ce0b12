import type { Verdict } from '../core/outcome.ts'

// When is the body of an answer over?
//
// Consumed, cancelled or broken: until then the endpoint works for it. A fetch response has no event for it, so its reading methods and its
// `body` are watched; the response itself stays the one that fetch made.

/** Called once, when the body is over. */
export type Ended = (verdict: Verdict) => void

/** A stream of Node's, as far as it matters here. */
interface NodeStream {
  once(event: 'close', listener: () => void): unknown
  on(event: 'error', listener: () => void): unknown
  destroy(): unknown
  readonly errored?: unknown
}

type Read = () => Promise<unknown>

const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const

const isNodeStream = (body: unknown): body is NodeStream =>
  typeof body === 'object' && body !== null && 'once' in body && 'destroy' in body

/** Calls `ended` when the stream is over. */
export function followStream(stream: NodeStream, ended: Ended): void {
  stream.once('close', () => ended(stream.errored == null ? 'success' : 'ignored'))
}

/** True for what fetch returned with a body that ends. */
export function hasBody(response: Response): boolean {
  const body: unknown = bodyOf(response)
  return isNodeStream(body) || body instanceof ReadableStream
}

/** Calls `ended` when the body of what fetch returned is over. */
export function followResponse(response: Response, ended: Ended): void {
  const body: unknown = bodyOf(response)
  if (isNodeStream(body)) return followStream(body, ended)
  let open = true
  watch(response, (verdict) => {
    if (open) ended(verdict)
    open = false
  })
}

/** Nobody will read it. */
export function discardResponse(response: Response): void {
  const body: unknown = bodyOf(response)
  if (isNodeStream(body)) {
    body.on('error', () => {})
    body.destroy()
  } else if (body instanceof ReadableStream && !body.locked) body.cancel().catch(() => {})
}

function watch(response: Response, ended: Ended): void {
  for (const name of READERS) {
    const read: unknown = Reflect.get(response, name)
    if (typeof read === 'function') define(response, name, { value: () => reading(response, read as Read, ended) })
  }
  let watched: ReadableStream | undefined
  define(response, 'body', {
    get: () => {
      watched ??= watchedStream(response, ended)
      return watched
    },
  })
  const { clone } = response
  if (typeof clone !== 'function') return
  const copy = () => {
    const other = clone.call(response)
    watch(other, ended)
    return other
  }
  define(response, 'clone', { value: copy })
}

function define(response: Response, name: string, property: PropertyDescriptor): void {
  Object.defineProperty(response, name, { configurable: true, ...property })
}

function reading(response: Response, read: Read, ended: Ended): Promise<unknown> {
  const { bodyUsed } = response
  const result = read.call(response)
  // Who reads twice gets an error, and the first reading goes on.
  if (!bodyUsed)
    result.then(
      () => ended('success'),
      () => ended('ignored'),
    )
  return result
}

/** What the prototype says: our own property hides it, and `clone()` puts another stream there. */
function bodyOf(response: Response): unknown {
  const prototype: unknown = Object.getPrototypeOf(response)
  const inherited = typeof prototype === 'object' && prototype !== null && 'body' in prototype
  return inherited ? Reflect.get(prototype, 'body', response) : response.body
}

/** The body, chunk by chunk as it is asked for. Not locked before somebody reads, so that `text()` still may. */
function watchedStream(response: Response, ended: Ended): ReadableStream {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const open = (): ReadableStreamDefaultReader<Uint8Array> => {
    reader ??= (bodyOf(response) as ReadableStream<Uint8Array>).getReader()
    return reader
  }
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      try {
        const { done, value } = await open().read()
        if (!done) return controller.enqueue(value)
        ended('success')
        controller.close()
        // A reader that brought its own buffer waits for it still.
        controller.byobRequest?.respond(0)
      } catch (error) {
        ended('failure')
        throw error
      }
    },
    async cancel(reason) {
      ended('ignored')
      await open().cancel(reason)
    },
  })
}
