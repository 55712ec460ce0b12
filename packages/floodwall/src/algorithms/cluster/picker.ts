import type { Ask } from '../../core/gate.ts'
import type { Member } from './member.ts'

/** What a picker may know when it chooses. */
export interface Choice {
  /** Those in choice, never empty, in no order. */
  readonly members: readonly Member[]
  /** Another number when the list is not the same as before: it is changed in place. */
  readonly version: number
  /** The heaviest weight in the list, before slow start and suspicion. */
  readonly maxWeight: number
  readonly ask: Ask
  readonly now: number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Latency to assume for members that have not answered yet, in milliseconds. */
  readonly typicalMs: number
  /** True for members that this operation has tried already: the last resort. */
  readonly tried: (member: Member) => boolean
}

/** Where to? Chooses one of those in choice. It keeps no state about health: members do. */
export interface Picker {
  readonly kind: string
  /** A member, or undefined when all weigh nothing. */
  pick(choice: Choice): Member | undefined
  /** All members changed (discovery). Those in choice may change without a word. */
  changed?(all: readonly Member[]): void
}

/** The load of a member as a waiting time: who comes now waits for those inside and for himself, each as long as the slowest lately. */
export function loadOf(member: Member, choice: Choice): number {
  const latency = member.latencyMs(choice.now) ?? choice.typicalMs
  // A decayed latency of 0 would make every load 0: at least a grain, so that calls inside always count.
  return (member.inFlight + 1) * Math.max(latency, 0.01)
}
