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
// Drawn with replacement: of two endpoints the light one must not be in every draw. Where all are looked at, load is divided by weight.
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
    if (this.choices === Number.POSITIVE_INFINITY || members.length === 1) return this.least(members, choice)
    if (members.length === 2 && alike(members, choice)) return this.least(members, choice)
    let best: Member | undefined
    let bestLoad = Number.POSITIVE_INFINITY
    for (let drawn = 0, tries = this.choices + REDRAWS; drawn < this.choices && tries > 0; tries--) {
      const at = Math.floor(choice.random() * members.length)
      const member = members[at] as Member
      if (choice.tried(member)) continue
      const weight = member.effectiveWeight(choice.now)
      if (weight <= 0 || (weight < choice.maxWeight && choice.random() * choice.maxWeight >= weight)) continue
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
      const weight = member.effectiveWeight(choice.now)
      if (weight <= 0) continue
      const load = loadOf(member, choice) / weight
      if (choice.tried(member)) fallback ??= member
      else if (load < bestLoad) {
        best = member
        bestLoad = load
      }
    }
    return best ?? fallback
  }
}

/** Two of full weight: the draw would miss the better one every fourth time. */
function alike(members: readonly Member[], { now, maxWeight }: Choice): boolean {
  return members.every((member) => member.effectiveWeight(now) >= maxWeight)
}
