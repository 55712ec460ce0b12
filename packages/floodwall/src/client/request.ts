import type { Endpoint } from '../core/init.ts'
import { names } from '../wire/names.ts'
import { type About, splitAbout } from './about.ts'
import { type Asked, asked } from './api.ts'
import { isShortJson, lookAtData } from './error-answer.ts'
import type { Wire } from './exchange.ts'
import { checkPath } from './fetch.ts'
import type { Pools } from './pools.ts'
import type { Propagation } from './propagation.ts'
import { isRepeatable, isWhole } from './request-body.ts'
import { type GivenHeaders, ownHeaders } from './request-headers.ts'
import { followStream } from './response-body.ts'
import type { ResponseData } from './undici.ts'

/** What is sent, and what is said about the request. */
export interface RequestOptions extends About {
  /** Begins with a slash. */
  readonly path: string
  /** Default GET. */
  readonly method?: string
  readonly headers?: GivenHeaders
  readonly query?: Readonly<Record<string, unknown>>
  /** A string, bytes, a stream, FormData. Only what can be read twice is sent twice. */
  readonly body?: unknown
}

/** Answers that are thrown away are read up to this, in bytes: cheaper than a new connection. */
const DUMP_BYTES = 16_384

type Sent = Omit<RequestOptions, keyof About>

/** What is sent, and what floodwall is told about it. Throws a TypeError on a path that is none. */
export function splitOptions(options: RequestOptions): { request: Sent; about: Asked } {
  const { path } = options
  checkPath(path)
  const { about, rest } = splitAbout(options)
  const method = (rest.method ?? 'GET').toUpperCase()
  const said = { ...asked(method, path, about), idempotent: isRepeatable(method, rest.body), ...about }
  return { request: { ...rest, method }, about: said }
}

/** Throws where undici is not installed: that is no endpoint's fault. */
export async function requestWire(request: Sent, pools: Pools, propagation: Propagation): Promise<Wire<ResponseData>> {
  const undici = await pools.load()
  if (undici === undefined) throw new Error('client.request() needs undici: npm install undici@7')
  const own = ownHeaders(request.headers, propagation.ours)
  const { [names.baggage]: carried } = own
  const baggage = () => (typeof carried === 'string' ? carried : '')
  const header = ({ headers }: ResponseData, name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? undefined : value
  }
  return {
    async send(call, signal) {
      const headers: Record<string, unknown> = { ...own }
      propagation.write(call, baggage, (name, value) => {
        headers[name] = value
      })
      const wanted = { ...request, headers, signal }
      return pools.send(call.endpoint as Endpoint, undici, signal, (pool) => pool.request(wanted))
    },
    whole: () => isWhole(request.body),
    status: ({ statusCode }) => statusCode,
    header,
    hasBody: (answer) => request.method !== 'HEAD' && !isEmpty(answer),
    follow: ({ body }, ended) => followStream(body, ended),
    discard({ body }) {
      body.on('error', () => {})
      body.dump({ limit: DUMP_BYTES }).catch(() => {})
    },
    look: (answer) => (isShortJson((name) => header(answer, name)) ? lookAtData(answer) : undefined),
  }
}

/** A body without content ends only when somebody reads it, and nobody will. */
function isEmpty({ statusCode, headers }: ResponseData): boolean {
  return statusCode === 204 || statusCode === 304 || headers['content-length'] === '0'
}
