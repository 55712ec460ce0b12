import type { ConfigIssue, Layer } from 'floodwall'
import { oneOf, parse, shareOrZero } from 'floodwall/rules'
import { type ToldLimits, toldLimits } from 'floodwall/server'
import { type ErrorFormat, errorFormats } from 'floodwall/wire'
import * as v from 'valibot'
import { type HeaderEdits, headerEdits, noEdits, sentHeader } from '../routes/header-edits.ts'
import { HostPattern, hostForm } from '../routes/host-pattern.ts'
import { PathPattern, patternForm } from '../routes/path-pattern.ts'
import { Rewrite, rewriteForm } from '../routes/rewrite.ts'
import { type BandwidthConfig, bandwidthOption } from './bandwidth-options.ts'
import type { Faults } from './faults.ts'
import type { FirstByteTime } from './first-byte-options.ts'
import { type KeyPart, keyOption } from './key-options.ts'
import { type RouteLimits, routeLimitOptions, span } from './limits.ts'
import { bytes, layerList, listOf, made, name } from './words.ts'

/** What a request must be like to take a route; what is not said does not matter. */
export interface Match {
  readonly hosts: readonly HostPattern[]
  readonly path: PathPattern | undefined
  readonly methods: ReadonlySet<string> | undefined
  /** Lower-case names; `undefined`: any value. */
  readonly headers: readonly (readonly [name: string, value: string | undefined])[]
}

/** One way through the gateway, as the settings say it. */
export interface RouteConfig {
  readonly id: string
  readonly match: Match
  readonly cluster: string
  /** Around the whole operation, outermost first. */
  readonly layers: readonly Layer[]
  /** From a request that was sent to the first byte of its answer, for each attempt. */
  readonly timeout: FirstByteTime
  /** With more retries than this among the requests, those that are refused for load are told not to be tried again. */
  readonly retryShare: number
  readonly rewrite: Rewrite | undefined
  readonly request: HeaderEdits
  readonly response: HeaderEdits
  readonly limits: RouteLimits
  /** How many bytes a second it passes; undefined: as many as come. */
  readonly bandwidth: BandwidthConfig | undefined
  /** So much of a request's body is kept, so that it can be sent a second time; 0: none. */
  readonly replayBytes: number
  /** What may be sent a second time: idempotent methods, those with an `Idempotency-Key` too, or everything. */
  readonly idempotent: 'methods' | 'keys' | 'always'
  /** Protocols that a connection may change to; lower case. */
  readonly upgrade: readonly string[]
  /** The server is told what is left of the time. */
  readonly propagate: boolean
  readonly errors: ErrorFormat
  /** Whose a request is: the first of these that is there; undefined: all are nobody's. */
  readonly key: readonly KeyPart[] | undefined
  /** Which limits answers tell of. */
  readonly rateLimitHeaders: ToldLimits
  /** `static`: files and the like, that are only read. */
  readonly kind: 'dynamic' | 'static'
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const upgradeForm = 'true, false or protocols such as "websocket" (not "h2c" or "TLS")'

/** HTTP/2 is not passed on: behind an upgrade to it the gateway would not see the requests any more. */
const protocol = v.pipe(
  v.string(upgradeForm),
  v.regex(/^(?!h2|tls|http)[!#$%&'*+.^`|~\w-]{1,40}(?:\/[!#$%&'*+.^`|~\w-]{1,20})?$/i, upgradeForm),
  v.transform((text) => text.toLowerCase()),
)

/** A route in `routes`. */
export const routeOptions = v.strictObject({
  /** Its name in metrics and logs. Default: `route-1` and so on, by its place. */
  id: v.optional(name),
  /** Hosts, without a port; `*.example.com` for all below. Default: every host. */
  host: v.optional(listOf(made(HostPattern.of, hostForm), 100, hostForm)),
  /** A pattern of the path. Default: every path. */
  path: v.optional(made(PathPattern.of, patternForm)),
  /** Default: every method. */
  methods: v.optional(listOf(oneOf(...METHODS), METHODS.length, 'a list of methods')),
  /** Headers that must be there on the way to the server: with this value, or, where it is `true`, with any. */
  headers: v.optional(
    v.record(sentHeader, v.union([v.string(), v.literal(true)], 'a text, or true for any value'), 'names and values'),
  ),
  /** Which cluster answers. Default: `default`, that of `upstreams`. */
  cluster: v.optional(name, 'default'),
  /** Layers around the whole operation; default: those of the top level. */
  layers: layerList,
  /** From a request that was sent to the first byte of its answer, for each attempt; takes the place of layers `timeout`. */
  timeout: v.optional(span),
  /** With more retries than this among the requests, who is refused for load is told not to try again. Default: as the top level. */
  retryShare: v.optional(shareOrZero),
  /** The path that the server is asked for, with the names of `path` in braces. Default: as it came. */
  rewrite: v.optional(made(Rewrite.of, rewriteForm)),
  /** Headers to set and to remove on the way to the server. */
  request: v.optional(headerEdits, {}),
  /** ... and on the way back. */
  response: v.optional(headerEdits, {}),
  /** Limits of this route; what is not said is as at the top level. */
  limits: v.optional(routeLimitOptions, {}),
  /** Bytes a second of its bodies, `up` to the server and `down` to the client. Default: no limit. */
  bandwidth: v.optional(bandwidthOption),
  /** So much of a request's body is kept, so that what is idempotent can be tried again. Default `64KiB`; 0: none. */
  replay: v.optional(bytes, '64KiB'),
  /**
   * What may be sent a second time after it has begun to run: `methods`: GET, HEAD, OPTIONS, PUT, DELETE; `keys`: also what carries an
   * `Idempotency-Key`; `always`: everything. Default `methods`.
   */
  idempotent: v.optional(oneOf('methods', 'keys', 'always'), 'methods'),
  /** Protocols that connections may change to; `true`: `websocket`, `false`: none. Default true. */
  upgrade: v.optional(v.union([v.boolean(), listOf(protocol, 10, upgradeForm)], upgradeForm), true),
  /** Tells the server what is left of the time and which attempt it is, in `x-floodwall-` headers. Default true. */
  propagate: v.optional(v.boolean('true or false'), true),
  /** In which form the gateway says no: `problem` (RFC 9457) or `google`. Default `problem`. */
  errors: v.optional(oneOf(...errorFormats), 'problem'),
  /** Whose a request is, for layers that count each caller on his own: an address, a header, or what trusted peers say of its user. Default: nobody's. */
  key: v.optional(keyOption),
  /** Which limits answers tell of: each caller's own (`keyed`), `all`, on `refusals` only, or `none`. Default `keyed`. */
  rateLimitHeaders: v.optional(oneOf(...toldLimits), 'keyed'),
  /** `static`: only read (GET and HEAD, without a body). Default `dynamic`. */
  class: v.optional(oneOf('dynamic', 'static'), 'dynamic'),
})

/** What routes that do not say get. */
export interface RouteDefaults {
  /** The layers around its operations; `own` is what it says. */
  readonly layers: (own: unknown, path: string) => readonly Layer[]
  /** The time to the first byte; `own` is what it says. */
  readonly timeout: (own: number | undefined, path: string, layers: readonly Layer[], cluster: string) => FirstByteTime
  readonly retryShare: number
}

/** The route that takes everything. */
export function onlyRoute(cluster: string, { layers, timeout, retryShare }: RouteDefaults): RouteConfig {
  const around = layers(undefined, '')
  return {
    id: 'default',
    match: { hosts: [], path: undefined, methods: undefined, headers: [] },
    cluster,
    layers: around,
    timeout: timeout(undefined, '', around, cluster),
    retryShare,
    rewrite: undefined,
    request: noEdits,
    response: noEdits,
    limits: {},
    bandwidth: undefined,
    replayBytes: 65_536,
    idempotent: 'methods',
    upgrade: websocketOnly,
    propagate: true,
    errors: 'problem',
    key: undefined,
    rateLimitHeaders: 'keyed',
    kind: 'dynamic',
  }
}

/** The route that `given` says; undefined when it has faults, which are told. */
export function routeOf(
  given: unknown,
  place: number,
  defaults: RouteDefaults,
  clusters: ReadonlySet<string>,
  faults: Faults,
): RouteConfig | undefined {
  const path = `routes[${place}]`
  const settings = faults.collect(() => parse(routeOptions, given, path))
  const own =
    settings === undefined ? undefined : faults.collect(() => defaults.layers(settings.layers, `${path}.layers`))
  if (settings === undefined || own === undefined) return undefined
  const issues: ConfigIssue[] = []
  if (!clusters.has(settings.cluster)) {
    const known = [...clusters].join(', ')
    issues.push({ path: `${path}.cluster`, value: settings.cluster, expected: `a cluster: ${known}` })
  }
  const { rewrite } = settings
  const names = settings.path?.names ?? []
  const tellStrange = (place: string, used: readonly string[]): void => {
    const strange = used.find((each) => !names.includes(each))
    if (strange === undefined) return
    const known = names.length === 0 ? 'no names' : `a name in "path": ${names.join(', ')}`
    issues.push({ path: `${path}.${place}`, value: `{${strange}}`, expected: known })
  }
  tellStrange('rewrite', rewrite?.names ?? [])
  for (const place of ['request', 'response'] as const) {
    tellStrange(
      `${place}.set`,
      settings[place].templates.flatMap((template) => template.names),
    )
  }
  if (faults.tell(issues)) return undefined
  return {
    id: settings.id ?? `route-${place + 1}`,
    match: {
      hosts: settings.host ?? [],
      path: settings.path,
      methods: methodsOf(settings.methods, settings.class),
      headers: Object.entries(settings.headers ?? {}).map(([header, value]) => [
        header,
        value === true ? undefined : value,
      ]),
    },
    cluster: settings.cluster,
    layers: own,
    timeout: defaults.timeout(settings.timeout, `${path}.timeout`, own, settings.cluster),
    retryShare: settings.retryShare ?? defaults.retryShare,
    rewrite,
    request: settings.request,
    response: settings.response,
    limits: settings.limits,
    bandwidth: settings.bandwidth,
    replayBytes: settings.replay,
    idempotent: settings.idempotent,
    upgrade: protocolsOf(settings.upgrade, settings.class),
    propagate: settings.propagate,
    errors: settings.errors,
    key: settings.key,
    rateLimitHeaders: settings.rateLimitHeaders,
    kind: settings.class,
  }
}

/** What is static is only read: other methods take another route, or none. */
function methodsOf(given: readonly string[] | undefined, kind: string): ReadonlySet<string> | undefined {
  if (kind === 'static') return new Set((given ?? ['GET', 'HEAD']).filter((one) => one === 'GET' || one === 'HEAD'))
  return given === undefined ? undefined : new Set(given)
}

const websocketOnly: readonly string[] = ['websocket']

/** What is static is only read, and a tunnel is more than that. */
function protocolsOf(given: boolean | readonly string[], kind: string): readonly string[] {
  if (typeof given === 'object') return given
  return given && kind !== 'static' ? websocketOnly : []
}
