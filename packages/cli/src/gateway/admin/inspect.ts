import type { Gateway } from '../gateway.ts'

/** What is, now, as JSON: the gateway's own facts and the pipeline's. */
export function inspect(gateway: Gateway): object {
  const { stage, uptimeMs, addresses, telemetry, peers, upstreams, pipeline } = gateway
  return {
    gateway: {
      stage,
      ...addresses,
      uptimeMs: Math.round(uptimeMs),
      connections: peers.size,
      ...telemetry.inspect(),
    },
    upstreams: upstreams.map(({ id, active, attempts, connections, failures }) => ({
      id,
      active,
      attempts,
      connections,
      failures: Object.fromEntries([...failures].filter(([, count]) => count > 0)),
    })),
    pipeline: pipeline.inspect(),
  }
}
