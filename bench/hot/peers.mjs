// The peers, set up like our rows: 50 % failures over 10 s, at least 20 calls; three attempts; 64 slots; 250 ms.
import { work } from '../method/loops.mjs'

export async function opossum(options = {}) {
  const { default: CircuitBreaker } = await import('opossum')
  return new CircuitBreaker(work, {
    errorThresholdPercentage: 50,
    rollingCountTimeout: 10_000,
    volumeThreshold: 20,
    ...options,
  })
}

export async function cockatielBreaker() {
  const { circuitBreaker, handleAll, SamplingBreaker } = await import('cockatiel')
  return circuitBreaker(handleAll, {
    halfOpenAfter: 5000,
    breaker: new SamplingBreaker({ threshold: 0.5, duration: 10_000, minimumRps: 2 }),
  })
}

/** The same four layers. `Aggressive` is the timeout that frees the caller. */
export async function cockatielFour() {
  const { bulkhead, handleAll, retry, timeout, TimeoutStrategy, wrap } = await import('cockatiel')
  return wrap(
    retry(handleAll, { maxAttempts: 2 }), // cockatiel counts the attempts after the first
    await cockatielBreaker(),
    bulkhead(64),
    timeout(250, TimeoutStrategy.Aggressive),
  )
}
