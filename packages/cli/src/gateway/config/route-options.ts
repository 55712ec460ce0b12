import type { ConfigIssue, Layer } from 'floodwall'
import { oneOf, parse } from 'floodwall/rules'
import * as v from 'valibot'
import { type HeaderEdits, headerEdits, noEdits } from '../routes/header-edits.ts'
import { HostPattern, hostForm } from '../routes/host-pattern.ts'
import { PathPattern, patternForm } from '../routes/path-pattern.ts'
import { Rewrite, rewriteForm } from '../routes/rewrite.ts'
import type { Faults } from './faults.ts'
import { type RouteLimits, routeLimitOptions } from './limits.ts'
import { bytes, layerList, listOf, name } from './words.ts'

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
  readonly rewrite: Rewrite | undefined
  readonly request: HeaderEdits
  readonly response: HeaderEdits
  readonly limits: RouteLimits
  /** So much of a request's body is kept, so that it can be sent a second time; 0: none. */
  readonly replayBytes: number
  /** `static`: files and the like, that are only read. */
  readonly kind: 'dynamic' | 'static'
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

function made<T>(make: (text: string) => T | undefined, form: string): v.GenericSchema<string, T> {
  return v.pipe(
    v.string(form),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const found = make(dataset.value)
      if (found !== undefined) return found
      addIssue({ message: form })
      return NEVER
    }),
  )
}

const headerName = v.pipe(v.string(), v.regex(/^[!#$%&'*+.^`|~\w-]{1,100}$/, 'the name of a header'))

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
  /** Headers that must be there: with this value, or, where it is `true`, with any. */
  headers: v.optional(
    v.record(headerName, v.union([v.string(), v.literal(true)], 'a text, or true for any value'), 'names and values'),
  ),
  /** Which cluster answers. Default: `default`, that of `upstreams`. */
  cluster: v.optional(name, 'default'),
  /** Layers around the whole operation; default: those of the top level. */
  layers: layerList,
  /** The path that the server is asked for, with the names of `path` in braces. Default: as it came. */
  rewrite: v.optional(made(Rewrite.of, rewriteForm)),
  /** Headers to set and to remove on the way to the server. */
  request: v.optional(headerEdits, {}),
  /** ... and on the way back. */
  response: v.optional(headerEdits, {}),
  /** Limits of this route; what is not said is as at the top level. */
  limits: v.optional(routeLimitOptions, {}),
  /** So much of a request's body is kept, so that what is idempotent can be tried again. Default `64KiB`; 0: none. */
  replay: v.optional(bytes, '64KiB'),
  /** `static`: only read (GET and HEAD, without a body). Default `dynamic`. */
  class: v.optional(oneOf('dynamic', 'static'), 'dynamic'),
})

/** The route that takes everything. */
export function onlyRoute(cluster: string, layers: readonly Layer[]): RouteConfig {
  return {
    id: 'default',
    match: { hosts: [], path: undefined, methods: undefined, headers: [] },
    cluster,
    layers,
    rewrite: undefined,
    request: noEdits,
    response: noEdits,
    limits: {},
    replayBytes: 65_536,
    kind: 'dynamic',
  }
}

/** The route that `given` says; undefined when it has faults, which are told. `layers` makes its layers. */
export function routeOf(
  given: unknown,
  place: number,
  layers: (own: unknown, path: string) => readonly Layer[],
  clusters: ReadonlySet<string>,
  faults: Faults,
): RouteConfig | undefined {
  const path = `routes[${place}]`
  const settings = faults.collect(() => parse(routeOptions, given, path))
  const own = settings === undefined ? undefined : faults.collect(() => layers(settings.layers, `${path}.layers`))
  if (settings === undefined || own === undefined) return undefined
  const issues: ConfigIssue[] = []
  if (!clusters.has(settings.cluster)) {
    const known = [...clusters].join(', ')
    issues.push({ path: `${path}.cluster`, value: settings.cluster, expected: `a cluster: ${known}` })
  }
  const { rewrite } = settings
  const names = settings.path?.names ?? []
  const strange = rewrite?.names.find((used) => !names.includes(used))
  if (strange !== undefined) {
    issues.push({ path: `${path}.rewrite`, value: `{${strange}}`, expected: `a name in "path": ${names.join(', ')}` })
  }
  if (faults.tell(issues)) return undefined
  return {
    id: settings.id ?? `route-${place + 1}`,
    match: {
      hosts: settings.host ?? [],
      path: settings.path,
      methods: methodsOf(settings.methods, settings.class),
      headers: Object.entries(settings.headers ?? {}).map(([header, value]) => [
        header.toLowerCase(),
        value === true ? undefined : value,
      ]),
    },
    cluster: settings.cluster,
    layers: own,
    rewrite,
    request: settings.request,
    response: settings.response,
    limits: settings.limits,
    replayBytes: settings.replay,
    kind: settings.class,
  }
}

/** What is static is only read: other methods take another route, or none. */
function methodsOf(given: readonly string[] | undefined, kind: string): ReadonlySet<string> | undefined {
  if (kind === 'static') return new Set((given ?? ['GET', 'HEAD']).filter((one) => one === 'GET' || one === 'HEAD'))
  return given === undefined ? undefined : new Set(given)
}
