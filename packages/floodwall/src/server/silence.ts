import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

// What becomes of the answer of a handler that was too late?
//
// Its caller has been answered already. A second head would throw in the handler, and a framework that finds the head sent and meets an error
// cuts the connection off, with whatever else travels on it. So from now on the response looks untouched, and swallows all.

/** Silences `response`; `ended` is called when its handler has ended it, which is how we know that the work has ended. */
export function silence(response: ServerResponse, ended: () => void): void {
  let open = true
  const end = (...args: readonly unknown[]): ServerResponse => {
    callBack(args)
    if (open) {
      open = false
      ended()
    }
    return response
  }
  const nothing = (): ServerResponse => response
  const swallow = (...args: readonly unknown[]): boolean => {
    callBack(args)
    return true
  }
  const values = {
    ...{ end, destroy: end, write: swallow, addTrailers: nothing, flushHeaders: nothing },
    ...{ writeHead: nothing, setHeader: nothing, setHeaders: nothing, appendHeader: nothing, removeHeader: nothing },
    ...{ writeContinue: nothing, writeProcessing: nothing, writeEarlyHints: nothing },
  }
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(response, name, { value, writable: true, configurable: true })
  }
  Object.defineProperty(response, 'headersSent', { get: () => false, configurable: true })
  Object.defineProperty(response, 'writableEnded', { get: () => !open, configurable: true })
  // What is piped has no other end: the pipe is cut when the response that was sent instead has finished.
  const discard = (source: Readable): void => {
    source.unpipe(response)
    source.destroy()
    end()
  }
  response.on('pipe', discard)
  response.on('unpipe', discard)
  // A write that was under way when the time was over.
  response.on('error', () => {})
}

function callBack(args: readonly unknown[]): void {
  const last = args.at(-1)
  if (typeof last === 'function') queueMicrotask(() => void (last as () => unknown)())
}
