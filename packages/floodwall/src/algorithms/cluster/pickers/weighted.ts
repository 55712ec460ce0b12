import type { Member } from '../member.ts'
import type { Choice, Picker } from '../picker.ts'

// In turn, the strong more often.
//
// Source: earliest deadline first, as in Envoy's weighted round robin: each member's next turn is 1/weight after its last, the earliest
// goes. Interleaves (a weight of 5 beside five of 1 does not come five times in a row), costs log n, and takes a weight that changes (slow
// start, suspicion) at the next turn.
//
// Weights 2 and 1: turns at 0.5, 1.0, 1.5 ... and 1, 2, 3 ...: A, A B, A, A B ...
//
// Invariant: over many picks the shares are the weights.

interface Turn {
  at: number
  readonly member: Member
}

export class Weighted implements Picker {
  readonly kind = 'weighted'
  private heap: Turn[] = []
  private clock = 0
  private known: readonly Member[] = []
  private version = -1

  pick(choice: Choice): Member | undefined {
    if (choice.members !== this.known || choice.version !== this.version) this.renew(choice)
    let fallback: Turn | undefined
    for (let tries = this.heap.length; tries > 0; tries--) {
      const turn = this.heap[0] as Turn
      const weight = turn.member.index < 0 ? 0 : turn.member.effectiveWeight(choice.now)
      this.clock = turn.at
      // Out of choice, or weighs nothing: looked at again after a while, not forgotten.
      turn.at += weight > 0 ? 1 / weight : this.heap.length
      this.sink(0)
      if (weight <= 0) continue
      if (!choice.tried(turn.member)) return turn.member
      fallback ??= turn
    }
    return fallback?.member
  }

  private renew(choice: Choice): void {
    const before = new Map(this.heap.map((t) => [t.member, t.at]))
    this.known = choice.members
    this.version = choice.version
    // A new one gets its first turn within one round, at a random place: a restart must not line all up.
    this.heap = choice.members.map((member) => ({
      member,
      at: before.get(member) ?? this.clock + choice.random() / Math.max(member.weight, 0.001),
    }))
    for (let i = this.heap.length >> 1; i >= 0; i--) this.sink(i)
  }

  private sink(from: number): void {
    const { heap } = this
    const turn = heap[from]
    if (turn === undefined) return
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] as Turn).at < (heap[child] as Turn).at) child++
      if ((heap[child] as Turn).at >= turn.at) break
      heap[at] = heap[child] as Turn
      at = child
    }
    heap[at] = turn
  }
}
