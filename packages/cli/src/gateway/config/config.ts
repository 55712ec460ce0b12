import type { ConfigIssue, Layer } from 'floodwall'
import { parse } from 'floodwall/rules'
import * as v from 'valibot'
import type { AccessLogSettings } from '../access/access-log.ts'
import { layer } from '../exchange/patience.ts'
import { accessLogOptions } from './access-log-options.ts'
import { type Address, addressForm, addressOf, isLoopback, showAddress } from './address.ts'
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
import { ConfigDocument, type Fault, Misconfigured, textOf } from './document.ts'
import { Faults } from './faults.ts'
import { type Limits, limitOptions, span } from './limits.ts'
import { onlyRoute, type RouteConfig, routeOf } from './route-options.ts'
import { layerList, name } from './words.ts'

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
  readonly drain?: string
}

export interface Config {
  readonly listen: Address
  readonly admin: Address
  readonly clusters: readonly ClusterConfig[]
  /** The first that fits is taken. */
  readonly routes: readonly RouteConfig[]
  readonly limits: Limits
  readonly drainMs: number
  /** None unless asked for. */
  readonly accessLog: AccessLogSettings | undefined
}

const MOST_CLUSTERS = 100
const MOST_ROUTES = 1000

function addressThat(fits: (found: Address) => boolean, expected: string): v.GenericSchema<string, Address> {
  return v.pipe(
    v.string(addressForm),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const found = addressOf(dataset.value)
      if (found !== undefined && fits(found)) return found
      addIssue({ message: found === undefined ? addressForm : expected })
      return NEVER
    }),
  )
}

const address: v.GenericSchema<string, Address> = addressThat(() => true, addressForm)

const adminForm = 'a loopback address such as 127.0.0.1:9090 (the admin page has no login yet)'

const adminAddress: v.GenericSchema<string, Address> = addressThat(isLoopback, adminForm)

const gatewayOptions = v.strictObject({
  listen: v.optional(address, '127.0.0.1:8080'),
  admin: v.optional(adminAddress, '127.0.0.1:9090'),
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
  balance: balanceEntry,
  limits: v.optional(limitOptions, {}),
  drain: v.optional(span, '10s'),
  accessLog: v.optional(accessLogOptions),
})

/** Without a file: an operation has 10 s and three tries, where trying again is safe. */
const defaultLayers = (): Layer[] => [layer('deadline', { within: '10s' }), layer('retry')]

/** @throws Misconfigured, with every fault of file and command line */
export function configOf(flags: Flags): Config {
  const document = flags.config === undefined ? undefined : ConfigDocument.read(flags.config)
  const fromFile = document === undefined ? {} : document.value
  const fromFlags = optionsOf(flags)
  if (!isPlain(fromFile)) throw new Misconfigured(document?.faults([notAnObject(fromFile)]) ?? [])
  const options: Record<string, unknown> = { ...fromFile, ...fromFlags }
  const faults = new Faults()
  const settings = faults.collect(() => parse(gatewayOptions, options, ''))
  // Layers too where the rest has faults already: who mends the file sees all of them at once.
  const layers = faults.collect(() => layersOf(list(options['layers']), 'layers', defaultLayers)) ?? []
  const defaults = clusterDefaults(list(options['endpoint']), map(options['balance']), faults)
  const clusters = settings === undefined ? [] : clustersOf(settings, defaults, faults)
  const routes = settings === undefined ? [] : routesOf(settings, layers, clusters, faults)
  if (settings === undefined || faults.issues.length > 0) {
    throw new Misconfigured(faults.issues.flatMap((issue) => faultOf(issue, fromFlags, document)))
  }
  const { listen, admin, limits, drain, accessLog } = settings
  if (listen.port !== 0 && showAddress(listen) === showAddress(admin)) {
    throw new Misconfigured([{ text: `admin: expected another address than listen, got ${showAddress(admin)}` }])
  }
  return { listen, admin, clusters, routes, limits, drainMs: drain, accessLog }
}

type Settings = v.InferOutput<typeof gatewayOptions>

/** Only those without faults: what is missing was told. */
function clustersOf({ upstreams, clusters }: Settings, defaults: ClusterDefaults, faults: Faults): ClusterConfig[] {
  const made = Object.entries(clusters).map(([id, given]) => clusterOf(id, given, `clusters.${id}`, defaults, faults))
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
  { routes, clusters, upstreams }: Settings,
  layers: readonly Layer[],
  made: readonly ClusterConfig[],
  faults: Faults,
): RouteConfig[] {
  const names = new Set([...Object.keys(clusters), ...(upstreams === undefined ? [] : ['default'])])
  if (routes === undefined) {
    const [only] = made
    if (made.length === 1 && only !== undefined) return [onlyRoute(only.name, layers)]
    if (faults.issues.length === 0) {
      faults.tell([{ path: 'routes', value: 'nothing', expected: 'routes, to tell which cluster answers what' }])
    }
    return []
  }
  const around = (own: unknown, path: string): readonly Layer[] =>
    own === undefined ? layers : layersOf(own, path, () => [])
  const all = routes.map((given, i) => routeOf(given, i, around, names, faults)).filter((route) => route !== undefined)
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

function optionsOf({ listen, admin, upstream, drain }: Flags): Record<string, unknown> {
  const given = { listen, admin, upstreams: upstream, drain }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** What was said on the command line has no line in the file. */
function faultOf(issue: ConfigIssue, fromFlags: object, document: ConfigDocument | undefined): Fault[] {
  const [setting = ''] = issue.path.split(/[.[]/, 1)
  if (setting in fromFlags || (setting === 'upstreams' && document === undefined))
    return [{ text: textOf({ ...issue, path: setting === 'upstreams' ? '--upstream' : `--${setting}` }) }]
  return document === undefined ? [{ text: textOf(issue) }] : document.faults([issue])
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
