import {
  type BalanceOptions,
  balance,
  ConfigError,
  type ConfigIssue,
  type Endpoint,
  isConfigError,
  kindOf,
  type Layer,
} from 'floodwall'
import { parseLayers } from 'floodwall/rules'
import * as v from 'valibot'
import { type Address, addressForm, addressOf, isLoopback, showAddress, type Target, targetOf } from './address.ts'
import { ConfigDocument, type Fault, Misconfigured, textOf } from './document.ts'
import { type Limits, limitOptions, span } from './limits.ts'
import { kinds, layer } from '../exchange/patience.ts'

// What the gateway is told: a file, the command line over it, and defaults that are safe with neither.

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
  readonly upstreams: readonly Target[]
  /** Around the whole operation, outermost first. */
  readonly layers: readonly Layer[]
  /** Around each attempt, for each upstream its own. */
  readonly endpoint: readonly Layer[]
  /** How an attempt finds its upstream. */
  readonly balance: BalanceOptions
  readonly limits: Limits
  readonly drainMs: number
}

const MOST_UPSTREAMS = 1000

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

const target: v.GenericSchema<string, Target> = v.pipe(
  v.string('an address such as http://127.0.0.1:3000'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const found = targetOf(dataset.value)
    if (!('expected' in found)) return found
    addIssue({ message: found.expected })
    return NEVER
  }),
)

/** Layers are parsed by the rules, which know the kinds; here they only have a place. */
const layerList = v.optional(v.array(v.unknown(), 'a list of layers'))

const gatewayOptions = v.strictObject({
  listen: v.optional(address, '127.0.0.1:8080'),
  admin: v.optional(adminAddress, '127.0.0.1:9090'),
  upstreams: v.pipe(
    v.array(target, 'a list of addresses such as http://127.0.0.1:3000'),
    v.minLength(1, 'at least one upstream, here or as --upstream'),
    v.maxLength(MOST_UPSTREAMS, `at most ${MOST_UPSTREAMS} upstreams`),
  ),
  layers: layerList,
  endpoint: layerList,
  balance: v.optional(v.looseObject({}, 'an object of options')),
  limits: v.optional(limitOptions, {}),
  drain: v.optional(span, '10s'),
})

type Settings = v.InferOutput<typeof gatewayOptions>

// A kind without a name is a parser of options: it lists every fault in the words that all layers use.
const settingsOf = kindOf({
  kind: '',
  options: gatewayOptions,
  snapshot: v.unknown(),
  build: () => {
    throw new Error('not a layer')
  },
})

/** Without a file: an operation has 10 s and three tries, where trying again is safe. */
const defaultLayers = (): Layer[] => [layer('deadline', { within: '10s' }), layer('retry')]
/** ... and each upstream has a breaker, and 2 s to begin its answer. */
const defaultEndpoint = (): Layer[] => [layer('breaker'), layer('timeout', { after: '2s' })]

/** @throws Misconfigured, with every fault of file and command line */
export function configOf(flags: Flags): Config {
  const document = flags.config === undefined ? undefined : ConfigDocument.read(flags.config)
  const fromFile = document === undefined ? {} : document.value
  const fromFlags = optionsOf(flags)
  if (!isPlain(fromFile)) throw new Misconfigured(document?.faults([notAnObject(fromFile)]) ?? [])
  const options = { upstreams: [], ...fromFile, ...fromFlags }
  const issues: ConfigIssue[] = []
  const collect = <T>(make: () => T): T | undefined => {
    try {
      return make()
    } catch (error) {
      if (!isConfigError(error)) throw error
      issues.push(...error.issues)
      return undefined
    }
  }

  const settings = collect(() => settingsOf(options as never).options as Settings)
  const { layers, endpoint } = options as { layers?: unknown; endpoint?: unknown }
  const whole = collect(() => (Array.isArray(layers) ? parseLayers(layers, 'layers', kinds) : defaultLayers()))
  const each = collect(() => (Array.isArray(endpoint) ? parseLayers(endpoint, 'endpoint', kinds) : defaultEndpoint()))
  const spread = collect(() => balanceOf(options))
  if (settings !== undefined) issues.push(...twins(settings.upstreams))
  if (
    issues.length > 0 ||
    settings === undefined ||
    whole === undefined ||
    each === undefined ||
    spread === undefined
  ) {
    throw new Misconfigured(issues.flatMap((issue) => faultOf(issue, fromFlags, document)))
  }
  const { listen, admin, upstreams, limits, drain } = settings
  if (listen.port !== 0 && showAddress(listen) === showAddress(admin)) {
    throw new Misconfigured([{ text: `admin: expected another address than listen, got ${showAddress(admin)}` }])
  }
  return { listen, admin, upstreams, layers: whole, endpoint: each, balance: spread, limits, drainMs: drain }
}

/** The options of the balancer, but for those that the gateway fills in. */
function balanceOf(options: Record<string, unknown>): BalanceOptions {
  const given = options['balance']
  if (!isPlain(given)) return {}
  const issues = ['endpoints', 'cluster', 'each']
    .filter((name) => name in given)
    .map((name) => ({ path: `balance.${name}`, value: 'a setting', expected: 'no such field' }))
  if (issues.length > 0) throw new ConfigError(issues)
  const whole = { ...given, endpoints: [{ id: 'checked' } satisfies Endpoint] }
  balance(whole)
  return given
}

function twins(upstreams: readonly Target[]): ConfigIssue[] {
  return upstreams.flatMap(({ id }, i) => {
    if (upstreams.findIndex((other) => other.id === id) === i) return []
    return [{ path: `upstreams[${i}]`, value: id, expected: 'another upstream than those before' }]
  })
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
  const [name = ''] = issue.path.split(/[.[]/, 1)
  if (name in fromFlags || (name === 'upstreams' && document === undefined))
    return [{ text: textOf({ ...issue, path: name === 'upstreams' ? '--upstream' : `--${name}` }) }]
  return document === undefined ? [{ text: textOf(issue) }] : document.faults([issue])
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
