// Which headers steer the servers behind, rather than ask them for something?
//
// A deadline, a rank, a count of attempts: who may write them may jump a queue, switch retries off, or have work done that nobody waits for.
// So they are believed from those only whom the settings trust: from strangers they are dropped on the way in, and from the servers on the
// way out to strangers, whom the state of the house is no business of. Matched without case.

/** By what they say. */
const namesByTopic = {
  /** How long the caller waits. */
  deadline: [
    'deadline',
    'x-deadline',
    'x-request-deadline',
    'request-timeout',
    'x-request-timeout',
    'x-timeout-ms',
    'grpc-timeout',
    'connect-timeout-ms',
  ],
  /** How much it matters. */
  criticality: ['criticality', 'x-criticality', 'x-request-criticality'],
  /** How often it was tried. */
  attempt: ['x-attempt', 'x-attempt-count', 'x-retry-attempt', 'x-retry-count', 'grpc-previous-rpc-attempts'],
  /** Who is still admitted. */
  level: ['x-admission-level', 'x-degradation-level'],
  /** What travels along with a request, for whoever reads it. */
  baggage: ['baggage', 'x-baggage'],
  /** What a server wishes its callers to do. */
  pushback: ['grpc-retry-pushback-ms', 'x-retry-pushback-ms'],
} as const

/** Lower-case names. */
export const controlNames: readonly string[] = Object.values(namesByTopic).flat()

/** All names that begin so: our own, and those of the proxy that many stand behind. */
export const controlPrefixes: readonly string[] = ['x-floodwall-', 'x-envoy-']
