import type { Gateway } from '../gateway.ts'
import type { Route } from '../routes/route.ts'
import type { Upstream } from '../upstreams/upstream.ts'

/** What is, now, as JSON: the gateway's own facts, and those of its routes and clusters. */
export function inspect(gateway: Gateway): object {
  const { stage, uptimeMs, addresses, telemetry, peers, site, front, reloads, upgrades } = gateway
  return {
    gateway: {
      stage,
      ...addresses,
      uptimeMs: Math.round(uptimeMs),
      connections: peers.size,
      handshaking: front.handshaking,
      connectionsRefused: telemetry.connectionsRefused,
      handshakesFailed: telemetry.handshakesFailed,
      intake: front.intakes,
      inFlight: telemetry.inFlight,
      clientsGone: telemetry.clientsGone,
      keptBytes: telemetry.kept.inMemory,
      upgrades: { open: upgrades.open, opened: upgrades.opened, ...upgrades.bytes },
      requests: byStatus(gateway),
      turnedAway: telemetry.turnedAway.byStatus(),
    },
    reload: reloads.inspect(),
    certificates: front.certificates?.inspect() ?? [],
    routes: site.routes.map(routeNow),
    clusters: site.clusters.map(({ name, upstreams, pipeline }) => ({
      name,
      upstreams: upstreams.map(upstreamNow),
      layers: pipeline.inspect()['layers'],
    })),
  }
}

function routeNow({ id, config, firstByte, telemetry, pipeline }: Route): object {
  const { requests, latency, sentBytes, retries } = telemetry
  return {
    id,
    cluster: config.cluster,
    requests: requests.byStatus(),
    sentBytes,
    latencyMs: latency.snapshot(),
    timeout: firstByte.inspect(),
    retryShare: retries.share(performance.now()),
    pipeline: pipeline.inspect(),
  }
}

/** Of all routes, and of requests that found none. */
function byStatus({ site, telemetry }: Gateway): Record<string, number> {
  const sums = telemetry.turnedAway.byStatus()
  for (const route of site.routes) route.telemetry.requests.byStatus(sums)
  return sums
}

function upstreamNow({ id, active, attempts, redone, connections, failures }: Upstream): object {
  const causes = Object.fromEntries([...failures].filter(([, count]) => count > 0))
  return { id, active, attempts, redone, connections, failures: causes }
}
