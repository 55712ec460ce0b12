import type { Member } from './member.ts'
import type { Roster } from './roster.ts'

// Is it one endpoint that is bad, or everybody?
//
// The weight of those in choice, each by how well it is doing, as a share of all weight. Isolation alone would not tell: its cap keeps half of
// a broken cluster in choice. What is in choice and fails counts by what it is suspected of.
//
// 10 endpoints, 3 isolated, 2 in choice that fail half way to their threshold: (5 + 2 · 0.5) / 10 = 0.6.
//
// Invariant: 0 <= share <= 1; 1 while all are in choice and none has failed lately, 0 when none is in choice.

/** A look at the whole cluster serves so long: of ten thousand endpoints not at each of ten thousand failures. */
const SERVES_MS = 100

export class Usable {
  private readonly roster: Roster
  private version = -1
  private lookedAt = 0
  private found = 1

  constructor(roster: Roster) {
    this.roster = roster
  }

  share(now: number): number {
    const { choice, all, version } = this.roster
    if (version === this.version && now - this.lookedAt < SERVES_MS) return this.found
    const total = all.reduce((sum, m) => sum + m.weight, 0)
    const good = choice.reduce((sum, m) => sum + m.weight * m.recoveryShare * m.health(now), 0)
    this.version = version
    this.lookedAt = now
    this.found = total === 0 ? 0 : Math.min(1, good / total)
    return this.found
  }

  /** True when an endpoint is in choice that is not among those `tried`. */
  elsewhere(tried: (member: Member) => boolean): boolean {
    return this.roster.choice.some((member) => member.weight > 0 && !tried(member))
  }
}
