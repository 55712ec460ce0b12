import type { Endpoint, Init } from '../core/init.ts'
import { splitAbout } from './about.ts'
import type { Wire } from './exchange.ts'
import { checkPath } from './fetch.ts'
import type { Pools } from './pools.ts'
import { isRepeatable, isWhole } from './request-body.ts'
import { followStream } from './response-body.ts'
import type { ResponseData } from './undici.ts'

/** What is sent, and what an {@link Init} has. */
export interface RequestOptions extends Init {
  /** Begins with a slash. */
  readonly path: string
  /** Default GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly query?: Readonly<Record<string, unknown>>
  /** A string, bytes, a stream, FormData. Only what can be read twice is sent twice. */
  readonly body?: unknown
}

/** Answers that are thrown away are read up to this, in bytes: cheaper than a new connection. */
const DUMP_BYTES = 16_384

type Sent = Omit<RequestOptions, keyof Init>

/** What is sent, and what floodwall is told about it. Throws a TypeError on a path that is none. */
export function splitOptions(options: RequestOptions): { request: Sent; about: Init } {
  checkPath(options.path)
  const { about, rest } = splitAbout(options)
  const method = (rest.method ?? 'GET').toUpperCase()
  return { request: { ...rest, method }, about: { idempotent: isRepeatable(method, rest.body), ...about } }
}

export function requestWire(request: Sent, pools: Pools): Wire<ResponseData> {
  const send = async (endpoint: Endpoint, signal: AbortSignal): Promise<ResponseData> => {
    const undici = await pools.load()
    if (undici === undefined) throw new Error('client.request() needs undici: npm install undici@7')
    return pools.of(endpoint, undici).request({ ...request, signal })
  }
  return {
    send: (call, signal) => send(call.endpoint as Endpoint, signal),
    whole: () => isWhole(request.body),
    status: ({ statusCode }) => statusCode,
    header: ({ headers }, name) => {
      const value = headers[name]
      return Array.isArray(value) ? value[0] : value
    },
    follow(answer, ended) {
      if (request.method === 'HEAD' || isEmpty(answer)) return false
      followStream(answer.body, ended)
      return true
    },
    discard({ body }) {
      body.on('error', () => {})
      body.dump({ limit: DUMP_BYTES }).catch(() => {})
    },
  }
}

/** A body without content ends only when somebody reads it, and nobody will. */
function isEmpty({ statusCode, headers }: ResponseData): boolean {
  return statusCode === 204 || statusCode === 304 || headers['content-length'] === '0'
}
