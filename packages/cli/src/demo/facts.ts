// What is read from the gateway's /inspect while it runs.

export interface GatewayFacts {
  readonly retries: number
  /** The servers behind it, by id. */
  readonly endpoints: ReadonlyMap<string, EndpointFacts>
  /** All were out, and the first ones back are spared. */
  readonly recovering: boolean
  /** The share of the requests that is let through meanwhile. */
  readonly keepShare: number
}

/** What the cluster thinks of one server. */
export interface EndpointFacts {
  readonly state: string
  /** How long it has been in this state. */
  readonly sinceMs: number
  /** How long it is still isolated; 0 when it is not. */
  readonly probeInMs: number
  /** How often it was isolated. */
  readonly isolations: number
  /** How often it was asked. */
  readonly attempts: number
}

export function factsOf(inspected: unknown): GatewayFacts {
  let retries = 0
  let cluster: ClusterPart | undefined
  for (const part of parts(inspected)) {
    if (part['kind'] === 'retry') retries += Number(part['retries'])
    if (part['kind'] === 'cluster') cluster = part as unknown as ClusterPart
  }
  const { endpoints = [], recovering = false, keepShare = 1 } = cluster ?? {}
  return { retries, endpoints: new Map(endpoints.map((part) => [part.id, endpointOf(part)])), recovering, keepShare }
}

interface ClusterPart {
  readonly endpoints: readonly EndpointPart[]
  readonly recovering: boolean
  readonly keepShare: number
}

interface EndpointPart {
  readonly id: string
  readonly state: string
  readonly attempts: number
  readonly breaker: { readonly sinceMs: number; readonly probeInMs: number; readonly opened: number }
}

function endpointOf({ state, attempts, breaker: { sinceMs, probeInMs, opened } }: EndpointPart): EndpointFacts {
  return { state, sinceMs, probeInMs, isolations: opened, attempts }
}

/** Everything of some kind in what it shows of itself, however deep. */
function* parts(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if ('kind' in value) yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield* parts(inner)
}
