import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'

// The parts of undici (>= 7 and < 9) that a client uses, by their shape: the package is an optional peer, and its types must not be needed to
// read ours.

/** What `request` resolves with. */
export interface ResponseData {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly trailers: Readonly<Record<string, string>>
  readonly body: Readable & {
    text(): Promise<string>
    json(): Promise<unknown>
    arrayBuffer(): Promise<ArrayBuffer>
    /** Reads the rest and throws it away, so that the connection can be used again. */
    dump(options?: { readonly limit: number }): Promise<void>
  }
}

/** The connections to one endpoint. */
export interface Pool {
  readonly stats: { readonly connected: number; readonly pending: number; readonly running: number }
  request(options: object): Promise<ResponseData>
  close(): Promise<void>
  destroy(): Promise<void>
}

type Connected = (error: Error | null, socket: Socket | null) => void

/** Makes a connection; calls back once. */
export type Connector = (options: object, connected: Connected) => Socket

export interface Undici {
  readonly Pool: new (origin: string, options: object) => Pool
  readonly buildConnector: (options: object) => Connector
  readonly fetch: (url: string, init: object) => Promise<Response>
}

/** Not written into the import: who bundles a program without undici must not be asked for it. */
const NAME = 'undici'

/** The package, or undefined where it is not installed. */
export async function loadUndici(): Promise<Undici | undefined> {
  try {
    return (await import(NAME)) as Undici
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
