import { orderWarnings } from 'floodwall/rules'
import type { ClusterConfig } from './cluster-options.ts'
import type { RouteConfig } from './route-options.ts'

// Orders of layers that defeat themselves, for each route: those around the whole operation, and behind them those around an attempt, which
// the balancer sets up for each server.

/** In words, each with the name of its route; what several routes have in common once. */
export function disorderIn(routes: readonly RouteConfig[], clusters: readonly ClusterConfig[]): string[] {
  const byWhy = new Map<string, string[]>()
  for (const { id, layers, cluster } of routes) {
    const each = clusters.find(({ name }) => name === cluster)?.each ?? []
    for (const { why } of orderWarnings([...layers, ...each])) byWhy.set(why, [...(byWhy.get(why) ?? []), id])
  }
  return [...byWhy].map(([why, ids]) => `${ids.length > 1 ? 'routes' : 'route'} ${namesOf(ids)}: ${why}`)
}

const MOST_NAMES = 5

function namesOf(ids: readonly string[]): string {
  const shown = ids.slice(0, MOST_NAMES).map((id) => JSON.stringify(id))
  return ids.length > MOST_NAMES ? `${shown.join(', ')} and ${ids.length - MOST_NAMES} more` : shown.join(', ')
}
