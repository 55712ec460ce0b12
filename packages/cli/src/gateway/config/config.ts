import { type ConfigIssue, type Layer, toMs } from 'floodwall'
import { type LayerLimits, oneOf, parse, shareOrZero } from 'floodwall/rules'
import * as v from 'valibot'
import type { AccessLogSettings } from '../access/access-log.ts'
import { layer } from '../exchange/patience.ts'
import type { Trust } from '../listener/trust.ts'
import { accessLogOptions } from './access-log-options.ts'
import { type Address, address, adminAddress } from './address.ts'
import { type AdminConfig, adminHost, adminOf } from './admin-options.ts'
import { callerlessIn } from './bandwidth-options.ts'
import { tellClashes, trusting } from './clashes.ts'
import {
  balanceEntry,
  type ClusterConfig,
  type ClusterDefaults,
  clusterDefaults,
  clusterOf,
  layersOf,
  targetList,
  twinsIn,
} from './cluster-options.ts'
import { Credentials } from './credentials.ts'
import { disorderIn } from './disorder.ts'
import { ConfigDocument, type Fault, Misconfigured, textOf } from './document.ts'
import { Faults } from './faults.ts'
import { firstByteOf, timeoutIn } from './first-byte-options.ts'
import { keylessIn } from './keyless.ts'
import { type Limits, limitOptions, span, spanOrNone } from './limits.ts'
import { Reading } from './reading.ts'
import { onlyRoute, type RouteConfig, type RouteDefaults, routeOf } from './route-options.ts'
import {
  concernsOf,
  type TlsConfig,
  tlsOf,
  tlsOptions,
  type UpstreamTls,
  upstreamTlsOf,
  upstreamTlsOptions,
} from './tls-options.ts'
import { trustOptions } from './trust.ts'
import { layerList, listOf, name } from './words.ts'

// What the gateway is told: a file, the command line over it, and defaults that are safe with neither.
//
// A small gateway needs `upstreams` and nothing else: one cluster, called `default`, and one route to it. `clusters` and `routes` are for the
// rest; what they do not say themselves (`layers`, `endpoint`, `balance`) is as the top level says.

/** What the command line may say; texts as they were typed. */
export interface Flags {
  readonly config?: string
  readonly listen?: string
  readonly admin?: string
  readonly upstream?: readonly string[]
  readonly timeout?: string
  readonly drain?: string
  readonly drainDelay?: string
}

export interface Config {
  readonly listen: Address
  /** Undefined: clients are spoken to in plain HTTP. */
  readonly tls: TlsConfig | undefined
  readonly admin: AdminConfig
  readonly clusters: readonly ClusterConfig[]
  /** Whose word about requests of others counts, and who of them may name the highest class. */
  readonly trust: Trust
  readonly criticalPlus: Trust
  /** The way of requests is told in `Forwarded`, too. */
  readonly forwarded: boolean
  /** The first that fits is taken. */
  readonly routes: readonly RouteConfig[]
  readonly limits: Limits
  /** From the signal to the cut. */
  readonly drainMs: number
  /** From the signal until no new connection is taken; at most `drainMs`. */
  readonly drainDelayMs: number
  /** None unless asked for. */
  readonly accessLog: AccessLogSettings | undefined
  /** What is no fault, and should be known all the same. */
  readonly concerns: readonly string[]
}

const MOST_CLUSTERS = 100
const MOST_ROUTES = 1000
/** "Site Reliability Engineering", ch. 21: the share of retries that one client may have, and so all of them. */
const RETRY_SHARE = 0.1

/** The top level of a document. */
export const gatewayOptions = v.strictObject({
  listen: v.optional(address, '127.0.0.1:8080'),
  tls: v.optional(tlsOptions),
  admin: v.optional(adminAddress, '127.0.0.1:9090'),
  adminToken: v.optional(v.string('a file')),
  adminHosts: v.optional(listOf(adminHost, 100, 'a list of hosts')),
  upstreams: v.optional(targetList),
  clusters: v.optional(
    v.pipe(
      v.record(name, v.unknown(), 'clusters by name'),
      v.check((all) => Object.keys(all).length <= MOST_CLUSTERS, `at most ${MOST_CLUSTERS} clusters`),
    ),
    {},
  ),
  routes: v.optional(
    v.pipe(
      v.array(v.unknown(), 'a list of routes'),
      v.minLength(1, 'at least one route'),
      v.maxLength(MOST_ROUTES, `at most ${MOST_ROUTES} routes`),
    ),
  ),
  layers: layerList,
  endpoint: layerList,
  timeout: v.optional(span),
  balance: balanceEntry,
  upstreamTls: v.optional(upstreamTlsOptions),
  trust: v.optional(trustOptions, []),
  criticalPlus: v.optional(trustOptions, []),
  forwarded: v.optional(v.boolean('true or false'), false),
  limits: v.optional(limitOptions, {}),
  drain: v.optional(span, '10s'),
  drainDelay: v.optional(spanOrNone),
  retryShare: v.optional(shareOrZero, RETRY_SHARE),
  mostTimeout: v.optional(span, '60s'),
  onExcess: v.optional(oneOf('refuse', 'cap'), 'refuse'),
  accessLog: v.optional(accessLogOptions),
})

const WHOLE_MS = 10_000

/** Without a file: an operation has 10 s and three tries, where trying again is safe. */
function defaultLayers({ mostTimeout = WHOLE_MS }: LayerLimits): Layer[] {
  return [layer('deadline', { within: Math.min(WHOLE_MS, toMs(mostTimeout)) }), layer('retry')]
}

/** A balancer needs a moment to see that we are not ready any more, and sends new connections until then. */
const DRAIN_DELAY_MS = 1000

/** @throws Misconfigured, with every fault of file and command line. `reading` tells which files it was made of, then too. */
export function configOf(flags: Flags, reading: Reading = new Reading()): Config {
  const document = flags.config === undefined ? undefined : ConfigDocument.read(flags.config, reading)
  const fromFile = document === undefined ? {} : document.value
  const fromFlags = optionsOf(flags)
  if (!isPlain(fromFile)) throw new Misconfigured(document?.faults([notAnObject(fromFile)]) ?? [])
  const options: Record<string, unknown> = { ...fromFile, ...fromFlags }
  const faults = new Faults()
  const settings = faults.collect(() => parse(gatewayOptions, options, ''))
  const credentials = new Credentials(flags.config, reading, faults)
  // Layers too where the rest has faults already: who mends the file sees all of them at once.
  const cuts: string[] = []
  const times = timesOf(settings, cuts)
  const layers =
    faults.collect(() => layersOf(list(options['layers']), 'layers', times, () => defaultLayers(times))) ?? []
  const upstreamTls = upstreamTlsIn(settings, credentials, faults)
  const defaults = clusterDefaults(list(options['endpoint']), map(options['balance']), upstreamTls, times, faults)
  const clusters = settings === undefined ? [] : clustersOf(settings, defaults, credentials, faults)
  const routes = settings === undefined ? [] : routesOf(settings, layers, clusters, times, faults)
  const tls = settings?.tls === undefined ? undefined : tlsOf(settings.tls, credentials, faults)
  const admin = settings === undefined ? undefined : adminOf(settings, credentials, faults)
  if (settings !== undefined) tellClashes(settings, faults)
  if (settings === undefined || admin === undefined || faults.issues.length > 0) {
    throw new Misconfigured(faults.issues.flatMap((issue) => faultOf(issue, fromFlags, document)))
  }
  const { listen, trust, criticalPlus, forwarded, limits, drain, drainDelay, accessLog } = settings
  return {
    listen,
    tls,
    admin,
    clusters,
    trust,
    criticalPlus,
    forwarded,
    routes,
    limits,
    drainMs: drain,
    drainDelayMs: drainDelay ?? Math.min(DRAIN_DELAY_MS, drain),
    accessLog,
    concerns: [
      ...(tls === undefined ? [] : concernsOf(tls, Date.now())),
      ...trusting(clusters),
      ...cuts,
      ...disorderIn(routes, clusters),
      ...keylessIn(routes),
      ...callerlessIn(routes),
    ],
  }
}

/** The longest times of layers; in `cuts` will be what was cut. Of settings with faults none is too long: they are not taken anyway. */
function timesOf(settings: Settings | undefined, cuts: string[]): LayerLimits {
  if (settings === undefined) return { mostTimeout: 86_400_000 }
  const { mostTimeout, onExcess } = settings
  const warn = ({ path, value, expected }: ConfigIssue): void =>
    void cuts.push(`${path}: ${value} was cut: ${expected}`)
  return { mostTimeout, onExcess, warn }
}

type Settings = v.InferOutput<typeof gatewayOptions>

function upstreamTlsIn(
  settings: Settings | undefined,
  credentials: Credentials,
  faults: Faults,
): UpstreamTls | undefined {
  const given = settings?.upstreamTls
  return given === undefined ? undefined : upstreamTlsOf(given, 'upstreamTls', credentials, faults)
}

/** Only those without faults: what is missing was told. */
function clustersOf(
  { upstreams, clusters }: Settings,
  defaults: ClusterDefaults,
  credentials: Credentials,
  faults: Faults,
): ClusterConfig[] {
  const made = Object.entries(clusters).map(([id, given]) =>
    clusterOf(id, given, `clusters.${id}`, defaults, credentials, faults),
  )
  if (upstreams !== undefined) {
    if ('default' in clusters) {
      faults.tell([{ path: 'clusters.default', value: 'a cluster', expected: '"upstreams" or this, not both' }])
    }
    if (!faults.tell(twinsIn(upstreams, 'upstreams'))) made.push({ name: 'default', targets: upstreams, ...defaults })
  } else if (made.length === 0) {
    faults.tell([{ path: 'upstreams', value: '[]', expected: 'at least one upstream, here or as --upstream' }])
  }
  return made.filter((cluster) => cluster !== undefined)
}

function routesOf(
  { routes, clusters, upstreams, timeout, retryShare }: Settings,
  layers: readonly Layer[],
  made: readonly ClusterConfig[],
  times: LayerLimits,
  faults: Faults,
): RouteConfig[] {
  const names = new Set([...Object.keys(clusters), ...(upstreams === undefined ? [] : ['default'])])
  const settings = timeoutIn(timeout, 'timeout', times, faults)
  const defaults: RouteDefaults = {
    layers: (own, path) => (own === undefined ? layers : layersOf(own, path, times, () => [])),
    timeout: (own, path, around, cluster) => {
      const each = made.find(({ name: known }) => known === cluster)?.each
      return firstByteOf({ route: timeoutIn(own, path, times, faults), layers: around, each, settings }, times)
    },
    retryShare,
  }
  if (routes === undefined) {
    const [only] = made
    if (made.length === 1 && only !== undefined) return [onlyRoute(only.name, defaults)]
    if (faults.issues.length === 0) {
      faults.tell([{ path: 'routes', value: 'nothing', expected: 'routes, to tell which cluster answers what' }])
    }
    return []
  }
  const all = routes
    .map((given, i) => routeOf(given, i, defaults, names, faults))
    .filter((route) => route !== undefined)
  faults.tell(
    all.flatMap(({ id }, i) =>
      all.findIndex((other) => other.id === id) === i
        ? []
        : [{ path: `routes[${i}].id`, value: id, expected: 'another id than those before' }],
    ),
  )
  return all
}

/** What is no list is told already. */
function list(given: unknown): unknown {
  return Array.isArray(given) ? given : undefined
}

function map(given: unknown): unknown {
  return isPlain(given) ? given : undefined
}

function notAnObject(value: unknown): ConfigIssue {
  const shown = value === null ? 'nothing' : Array.isArray(value) ? 'a list' : typeof value
  return { path: '', value: shown, expected: 'settings, such as "upstreams: [http://127.0.0.1:3000]"' }
}

function optionsOf({ listen, admin, upstream, timeout, drain, drainDelay }: Flags): Record<string, unknown> {
  const given = { listen, admin, upstreams: upstream, timeout, drain, drainDelay }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

const optionNames: Readonly<Record<string, string>> = { upstreams: '--upstream', drainDelay: '--drain-delay' }

/** What was said on the command line has no line in the file. */
function faultOf(issue: ConfigIssue, fromFlags: object, document: ConfigDocument | undefined): Fault[] {
  const [setting = ''] = issue.path.split(/[.[]/, 1)
  if (setting in fromFlags || (setting === 'upstreams' && document === undefined))
    return [{ text: textOf({ ...issue, path: optionNames[setting] ?? `--${setting}` }) }]
  return document === undefined ? [{ text: textOf(issue) }] : document.faults([issue])
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
