import { readFileSync } from 'node:fs'
import type { ClusterConfig } from './cluster-options.ts'
import type { Limits } from './limits.ts'
import type { TlsConfig } from './tls-options.ts'

// Can this process have as many connections as the settings allow?
//
// Each takes a descriptor. When they are used up, new clients are turned away by the system without a word, and servers cannot be reached
// though nothing is wrong with them; the limits are there so that it does not come to that.

/** What of the settings takes descriptors. */
interface Bounds {
  readonly limits: Limits
  readonly clusters: readonly ClusterConfig[]
  readonly tls: TlsConfig | undefined
}

/** Files, the log, the operators, and what Node itself has open. */
const OTHERS = 64

/** How many descriptors this process may have; infinite where the system does not say. */
export function descriptorsAllowed(path = '/proc/self/limits'): number {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    return Number.POSITIVE_INFINITY
  }
  const [, soft] = /^Max open files +(\d+)/m.exec(text) ?? []
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

/** What is wrong with that; nothing where it is fine. Each server needs one at least. */
export function crampedBy({ limits, clusters, tls }: Bounds, allowed: number = descriptorsAllowed()): string[] {
  const { clients } = limits
  const doors = tls?.listen === undefined ? 1 : 2
  const servers = clusters.reduce((sum, { targets }) => sum + targets.length, 0)
  const room = allowed - OTHERS - servers
  if (clients * doors <= room) return []
  const most = Math.max(1, Math.floor(room / doors))
  const where = doors > 1 ? ` at each of ${doors} addresses` : ''
  return [
    `limits.clients: ${clients} connections${where}, and this process may have ${allowed} descriptors: take at most ${most}, or raise the limit (ulimit -n, LimitNOFILE)`,
  ]
}
