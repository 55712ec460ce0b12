// Under which names do calls tell each other how much time is left, how much they matter, and how often they were tried?
//
// Ours begin with `x-floodwall-`. Aliases are what gRPC, Connect and Envoy write for the same; they are read, never written over HTTP. All of
// them steer the server, so that only who is trusted is believed: see `readInbound`.

/** What floodwall writes, in lower case. */
export const names = {
  /** Milliseconds that the caller will still wait. */
  timeout: 'x-floodwall-timeout-ms',
  /** One of the four classes: `CRITICAL_PLUS`, `CRITICAL`, `SHEDDABLE_PLUS`, `SHEDDABLE`. */
  criticality: 'x-floodwall-criticality',
  /** Where it stands in its class, 0 (goes first) to 127.99: the same in all services that work for one request. */
  cohort: 'x-floodwall-cohort',
  /** So many calls it stands for: the caller has refused the others by the level of this server. 1 or absent: itself alone. */
  standsFor: 'x-floodwall-stands-for',
  /** Which attempt of its operation this is; 0 or absent: the first. */
  attempt: 'x-floodwall-attempt',
  /** How many calls of the last seconds were first tries, second tries ...: `118,9,1`. */
  attempts: 'x-floodwall-attempts',
  /** The admission level of the server that answers: who is below it would be refused. */
  level: 'x-floodwall-level',
  /** On answers: `no` when a retry would do harm. */
  retry: 'x-floodwall-retry',
  /** W3C Baggage, which may carry the criticality where other headers are not passed on. */
  baggage: 'baggage',
} as const

/** Other names for the timeout, with their grammar. */
export const timeoutAliases = {
  /** gRPC over HTTP/2: `1` to `99999999` and a unit, `H M S m u n`. */
  grpc: 'grpc-timeout',
  /** Connect: milliseconds, at most ten digits. */
  connect: 'connect-timeout-ms',
  /** Envoy: milliseconds until the route's timeout. */
  envoy: 'x-envoy-expected-rq-timeout-ms',
} as const

/** Every header that steers: an edge that trusts nobody drops these. Lower case. */
export const controlHeaders: readonly string[] = [
  ...Object.values(names),
  ...Object.values(timeoutAliases),
  'grpc-previous-rpc-attempts',
  'grpc-retry-pushback-ms',
  'x-envoy-attempt-count',
]
