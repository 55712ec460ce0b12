import type { Member } from '../member.ts'
import type { Choice, Picker } from '../picker.ts'

// One after the other.
//
// For endpoints that are alike and calls that cost alike: then it is the most even of all, and the cheapest.
//
// Invariant: n picks without changes in between visit n members once each.

export class RoundRobin implements Picker {
  readonly kind = 'roundRobin'
  private turn = 0

  pick({ members, tried }: Choice): Member | undefined {
    let fallback: Member | undefined
    for (let step = 0; step < members.length; step++) {
      this.turn = this.turn + 1 >= members.length ? 0 : this.turn + 1
      const member = members[this.turn] as Member
      if (member.weight <= 0) continue
      if (!tried(member)) return member
      fallback ??= member
    }
    return fallback
  }
}
