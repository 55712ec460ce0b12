import type { Layer } from 'floodwall'
import { showAddress, showPlace } from '../config/address.ts'
import type { ClusterConfig } from '../config/cluster-options.ts'
import type { Config } from '../config/config.ts'
import type { RouteConfig } from '../config/route-options.ts'
import type { TlsConfig } from '../config/tls-options.ts'
import { textOf } from '../routes/header-edits.ts'

// `/config`: the settings that are in effect, defaults included. Keys and tokens are not held in a form that could be shown. What an operator
// has written into a header for the servers, or asks of one, may be a secret under any name: it is hidden, whatever the name is.

const MASK = '***'
const USERINFO = /\/\/[^\s/@]+@/g
const SECRET = /auth|cookie|token|secret|password|passwd|credential|api-?key|session/i

export function effective(config: Config): object {
  const { listen, tls, admin, clusters, trust, criticalPlus, forwarded, routes } = config
  const { limits, drainMs, drainDelayMs, accessLog } = config
  return plain({
    listen: showAddress(listen),
    tls: tls === undefined ? undefined : tlsShown(tls),
    admin: { at: showPlace(admin.place), token: admin.token !== undefined, hosts: admin.hosts },
    clusters: Object.fromEntries(clusters.map((cluster) => [cluster.name, clusterShown(cluster)])),
    trust: trust.ranges,
    criticalPlus: criticalPlus.ranges,
    forwarded,
    routes: routes.map(routeShown),
    limits,
    drainMs,
    drainDelayMs,
    accessLog,
  }) as object
}

function tlsShown({ listen, clientCert, minVersion, identities }: TlsConfig): object {
  return {
    listen: listen === undefined ? undefined : showAddress(listen),
    clientCert,
    minVersion,
    certificates: identities.map(({ hosts, leaf }) => ({
      hosts: hosts.map(({ text }) => text),
      serial: leaf.serialNumber,
    })),
  }
}

function clusterShown({ targets, each, balance, tls }: ClusterConfig): object {
  return {
    endpoints: targets.map(({ origin, base }) => origin + base),
    endpoint: each.map(layerShown),
    balance,
    tls:
      tls === undefined
        ? undefined
        : {
            ca: tls.ca === undefined ? 'default' : 'own',
            certificate: tls.cert !== undefined,
            servername: tls.servername,
            insecure: tls.insecure,
          },
  }
}

function routeShown({ match, layers, request, response, rewrite, ...rest }: RouteConfig): object {
  const { hosts, path, methods, headers } = match
  return {
    ...rest,
    host: hosts.map(({ text }) => text),
    path: path?.text,
    methods: methods === undefined ? undefined : [...methods],
    headers: Object.fromEntries(headers.map(([name, value]) => [name, value === undefined ? true : MASK])),
    rewrite: rewrite?.text,
    request: editsShown(request, () => true),
    response: editsShown(response, (name) => SECRET.test(name)),
    layers: layers.map(layerShown),
  }
}

/** Templates are put together from the request and hold what may be seen, unless their name says otherwise. */
function editsShown({ set, templates, gone }: RouteConfig['request'], hides: (name: string) => boolean): object {
  const names = set.filter((_, i) => i % 2 === 0)
  const constants = names.map((name, i) => [name, hides(name) ? MASK : (set[2 * i + 1] ?? '')])
  const others = templates.map((template) => {
    const { header } = template
    return [header, SECRET.test(header) ? MASK : textOf(template)]
  })
  return { set: Object.fromEntries([...constants, ...others]), gone: [...gone] }
}

function layerShown({ kind, options }: Layer): object {
  return { kind, ...options }
}

/** What JSON can say of it: layers in layers as layers, functions by being there, endless numbers as words. */
function plain(value: unknown): unknown {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'string') return value.replace(USERINFO, `//${MASK}@`)
  if (typeof value === 'number') return Number.isFinite(value) ? value : 'none'
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if ('build' in value && 'options' in value) return plain(layerShown(value as Layer))
  if (value instanceof Set || value instanceof Map) return plain([...value])
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      typeof inner === 'string' && SECRET.test(name) ? MASK : plain(inner),
    ]),
  )
}
