import type { BreakerState } from '../gates/breaker-settings.ts'
import type { Member } from './member.ts'

/**
 * Who follows what becomes of the members: active checks, pools of connections. Told in the middle of a change, when the lists are whole
 * again; what it throws would be the cluster's.
 */
export interface ClusterWatcher {
  /** Discovery has said who the members are. */
  updated?(members: readonly Member[], now: number): void
  /** A member is in another state, or its isolation has another end. Told of departed members too. */
  moved?(member: Member, to: BreakerState, now: number): void
  /** May calls probe it, now that its time is over? Who has this is an active check; of several, all must agree. */
  mayProbe?(member: Member, now: number): boolean
}
