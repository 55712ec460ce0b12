import type { Layer } from 'floodwall'
import { orderWarnings } from 'floodwall/rules'
import { layer } from '../exchange/patience.ts'
import { byRoute } from './by-route.ts'
import type { ClusterConfig } from './cluster-options.ts'
import { isTimeout } from './first-byte-options.ts'
import type { RouteConfig } from './route-options.ts'

// Orders of layers that defeat themselves, for each route: those around the whole operation, and behind them those around an attempt, which
// the balancer sets up for each server. Innermost is the time to the first byte, where no layer says it.

/** In words, each with the name of its route; what several routes have in common once. */
export function disorderIn(routes: readonly RouteConfig[], clusters: readonly ClusterConfig[]): string[] {
  return byRoute(routes.flatMap((route) => disorderOf(route, clusters).map((why) => [route.id, why] as const)))
}

function disorderOf({ layers, timeout, cluster }: RouteConfig, clusters: readonly ClusterConfig[]): string[] {
  const each = clusters.find(({ name }) => name === cluster)?.each ?? []
  const written = [...layers, ...each]
  const { afterMs, from } = timeout
  if (afterMs === undefined) return whysOf(written)
  // The route's own takes the place of the layers.
  const rest = from === 'route' ? written.filter((one) => !isTimeout(one)) : written
  const all = [...rest, layer('timeout', { after: afterMs })]
  if (from !== 'default') return whysOf(all)
  // Nobody wrote it, so nobody is told that it does not go together with his deadline.
  const without = whysOf(rest)
  return orderWarnings(all)
    .filter(({ outer, why }) => all[outer]?.kind !== 'deadline' || without.includes(why))
    .map(({ why }) => why)
}

function whysOf(layers: readonly Layer[]): string[] {
  return orderWarnings(layers).map(({ why }) => why)
}
