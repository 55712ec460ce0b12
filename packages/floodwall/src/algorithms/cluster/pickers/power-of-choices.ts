import type { Member } from '../member.ts'
import { type Choice, loadOf, type Picker } from '../picker.ts'

// A few at random, the least loaded of them.
//
// Source: Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing" (1996); load is the peak EWMA of Finagle. Two choices are
// nearly as even as looking at all, and many clients together do not all run to the one that looks best. One choice is random, all choices
// are least-loaded.
//
// Weights decide how often a member is drawn, load decides among those drawn: a weight in the load would starve a returning member whenever
// nobody has much to do, since one that is 1 % heavier would win every time.
//
// Loads 40 ms · (3 + 1 inside) against 100 ms · (1 + 1): 160 against 200, the first goes.
//
// Invariant: a member of weight 0 is never chosen; of those drawn the least loaded is.

/** Draws that may miss (tried already, too light), before all are looked at. */
const REDRAWS = 8

export class PowerOfChoices implements Picker {
  readonly kind: string
  private readonly choices: number

  /** @param choices how many are drawn; Infinity: all */
  constructor(choices = 2) {
    this.choices = choices
    this.kind = choices === 1 ? 'random' : Number.isFinite(choices) ? 'powerOfChoices' : 'leastLoaded'
  }

  pick(choice: Choice): Member | undefined {
    const { members } = choice
    if (this.choices >= members.length) return this.least(members, choice)
    let best: Member | undefined
    let bestLoad = Number.POSITIVE_INFINITY
    let previous = -1
    for (let drawn = 0, tries = this.choices + REDRAWS; drawn < this.choices && tries > 0; tries--) {
      const at = Math.floor(choice.random() * members.length)
      const member = members[at] as Member
      if (at === previous || choice.tried(member)) continue
      const weight = member.effectiveWeight(choice.now)
      if (weight <= 0 || (weight < choice.maxWeight && choice.random() * choice.maxWeight >= weight)) continue
      previous = at
      drawn++
      const load = loadOf(member, choice)
      if (load < bestLoad) {
        best = member
        bestLoad = load
      }
    }
    // Unlucky draws, or only weightless ones: look at all.
    return best ?? this.least(members, choice)
  }

  private least(members: readonly Member[], choice: Choice): Member | undefined {
    let best: Member | undefined
    let bestLoad = Number.POSITIVE_INFINITY
    let fallback: Member | undefined
    // From a random place, so that equals are chosen evenly.
    const start = Math.floor(choice.random() * members.length)
    for (let i = 0; i < members.length; i++) {
      const member = members[(start + i) % members.length] as Member
      const load = loadOf(member, choice)
      if (member.weight <= 0) continue
      if (choice.tried(member)) fallback ??= member
      else if (load < bestLoad) {
        best = member
        bestLoad = load
      }
    }
    return best ?? fallback
  }
}
