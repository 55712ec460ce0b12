import { type BalanceOptions, balance, ConfigError, type ConfigIssue, type Endpoint, type Layer } from 'floodwall'
import { type LayerLimits, parse, parseLayers } from 'floodwall/rules'
import * as v from 'valibot'
import { kinds, layer } from '../exchange/patience.ts'
import { isSecure, type Target, targetOf } from './address.ts'
import type { Credentials } from './credentials.ts'
import type { Faults } from './faults.ts'
import { strangersIn } from './parameters.ts'
import { type UpstreamTls, upstreamTlsOf, upstreamTlsOptions } from './tls-options.ts'
import { layerList } from './words.ts'

/** A group of servers that can stand in for each other, as the settings say it. */
export interface ClusterConfig {
  readonly name: string
  readonly targets: readonly Target[]
  /** Around each attempt, for each server its own. */
  readonly each: readonly Layer[]
  /** How an attempt finds its server. */
  readonly balance: BalanceOptions
  /** For targets that are spoken to in TLS; undefined: as Node does it. */
  readonly tls: UpstreamTls | undefined
}

const MOST_TARGETS = 1000

const target: v.GenericSchema<string, Target> = v.pipe(
  v.string('an address such as http://127.0.0.1:3000'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const found = targetOf(dataset.value)
    if (!('expected' in found)) return found
    addIssue({ message: found.expected })
    return NEVER
  }),
)

export const targetList: v.GenericSchema<string[], Target[]> = v.pipe(
  v.array(target, 'a list of addresses such as http://127.0.0.1:3000'),
  v.minLength(1, 'at least one server'),
  v.maxLength(MOST_TARGETS, `at most ${MOST_TARGETS} servers`),
)

export const balanceEntry: v.GenericSchema<Record<string, unknown> | undefined, Record<string, unknown> | undefined> =
  v.optional(v.looseObject({}, 'an object of options'))

/** A cluster in `clusters`, by its name. */
const clusterOptions = v.strictObject({
  /** The servers. */
  endpoints: targetList,
  /** Layers around each attempt; default: those of the top level. */
  endpoint: layerList,
  /** Options of the balancer. */
  balance: balanceEntry,
  /** How "https" servers prove who they are, and the gateway to them; default: `upstreamTls` of the top level. */
  tls: v.optional(upstreamTlsOptions),
})

/** Each server has a breaker. */
function defaultEach(): Layer[] {
  return [layer('breaker')]
}

/** What clusters that do not say get from the top level. */
export interface ClusterDefaults {
  readonly each: readonly Layer[]
  readonly balance: BalanceOptions
  readonly tls: UpstreamTls | undefined
  /** The longest times that layers may have. */
  readonly times: LayerLimits
}

/** The defaults that the top level says, or ours. */
export function clusterDefaults(
  endpoint: unknown,
  spread: unknown,
  tls: UpstreamTls | undefined,
  times: LayerLimits,
  faults: Faults,
): ClusterDefaults {
  return {
    tls,
    times,
    each: faults.collect(() => layersOf(endpoint, 'endpoint', times, defaultEach)) ?? [],
    balance: faults.collect(() => balanceOf(spread, 'balance')) ?? {},
  }
}

/** The cluster that `given` says; undefined when it has faults, which are told. */
export function clusterOf(
  name: string,
  given: unknown,
  path: string,
  defaults: ClusterDefaults,
  credentials: Credentials,
  faults: Faults,
): ClusterConfig | undefined {
  const settings = faults.collect(() => parse(clusterOptions, given, path))
  if (settings === undefined) return undefined
  const { endpoints, endpoint, balance: spread } = settings
  const each =
    endpoint === undefined
      ? defaults.each
      : faults.collect(() => layersOf(endpoint, `${path}.endpoint`, defaults.times, () => []))
  const options = spread === undefined ? defaults.balance : faults.collect(() => balanceOf(spread, `${path}.balance`))
  let { tls } = defaults
  if (settings.tls !== undefined) {
    tls = upstreamTlsOf(settings.tls, `${path}.tls`, credentials, faults)
    if (!endpoints.some(isSecure)) faults.say(`${path}.tls`, 'settings', 'a server with "https", or no "tls"')
  }
  const twins = faults.tell(twinsIn(endpoints, `${path}.endpoints`))
  return twins || each === undefined || options === undefined
    ? undefined
    : { name, targets: endpoints, each, balance: options, tls }
}

/** Layers from a document, or `otherwise` where nothing is said. */
export function layersOf(given: unknown, path: string, times: LayerLimits, otherwise: () => Layer[]): Layer[] {
  if (given === undefined) return otherwise()
  const layers = parseLayers(given, path, kinds, times)
  const issues = strangersIn(layers, path)
  if (issues.length > 0) throw new ConfigError(issues)
  return layers
}

/** The options of the balancer, but for those that the gateway fills in. */
function balanceOf(given: unknown, path: string): BalanceOptions {
  if (given === undefined) return {}
  const options = given as Record<string, unknown>
  const issues = ['endpoints', 'cluster', 'each']
    .filter((name) => name in options)
    .map((name) => ({ path: `${path}.${name}`, value: 'a setting', expected: 'no such field' }))
  if (issues.length > 0) throw new ConfigError(issues)
  const whole = { ...options, endpoints: [{ id: 'checked' } satisfies Endpoint] }
  try {
    balance(whole)
  } catch (error) {
    throw relocated(error, 'balance', path)
  }
  return options
}

/** A kind speaks of itself; the reader of a document wants the place in it. */
function relocated(error: unknown, from: string, to: string): unknown {
  if (!(error instanceof ConfigError)) return error
  return new ConfigError(error.issues.map((issue) => ({ ...issue, path: to + issue.path.slice(from.length) })))
}

export function twinsIn(targets: readonly Target[], path: string): ConfigIssue[] {
  return targets.flatMap(({ id }, i) => {
    if (targets.findIndex((other) => other.id === id) === i) return []
    return [{ path: `${path}[${i}]`, value: id, expected: 'another server than those before' }]
  })
}
