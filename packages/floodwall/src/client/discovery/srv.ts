import type { SrvRecord } from 'node:dns'

/** A record of weight 0 shall have "a very small chance of being selected" (RFC 2782): this share of the mean. */
const ZERO_SHARE = 0.01

/** The records to use: those of the lowest priority. The others are for when no one of these can be reached, and are not used. */
export function foremost(records: readonly SrvRecord[]): SrvRecord[] {
  // A target of "." says that the service is not to be had here.
  const real = records.filter(({ name }) => name !== '' && name !== '.')
  const lowest = Math.min(...real.map(({ priority }) => priority))
  return real.filter(({ priority }) => priority === lowest)
}

/** SRV weights are anything up to 65535; ours have a mean of 1, so that a cluster's strength stays the number of its endpoints. */
export function scaled(weights: ReadonlyMap<string, number>): Map<string, number> {
  const total = [...weights.values()].reduce((sum, w) => sum + w, 0)
  const mean = total / weights.size
  return new Map([...weights].map(([id, w]) => [id, mean === 0 ? 1 : Math.max(ZERO_SHARE, w / mean)]))
}
