// How did the classes fare?
//
// Counts for each class, and the two rules that keep them in order over time, where a level that moves up and down would not: for a moment
// after a class was refused no lower one is admitted, and for a moment after a class was admitted no higher one is refused; it waits. What
// happens all the same is counted: an inversion is a class that was admitted while a higher one was refused, within 100 ms.
//
// At 0 ms `critical` is refused: before 100 ms no `sheddable` is to be admitted. One that is at 50 ms is an inversion, at 100 ms it is none.
//
// Invariant: an inversion is counted once, when the later of the two happens.

/** Both within this. */
const TOGETHER_MS = 100
const CLASSES = 4

/** Numbers of the four classes, in the order of their rank. */
export interface ClassCounts {
  readonly criticalPlus: number
  readonly critical: number
  readonly sheddablePlus: number
  readonly sheddable: number
}

export class ByClass {
  inversions = 0
  private readonly admitted = new Float64Array(CLASSES)
  private readonly refused = new Float64Array(CLASSES)
  /** Until when what was done last counts: one sum that all compare with. Who leaves when his time is over leaves at just that sum, and 128.2 - 28.2 is less than 100. */
  private readonly sparesUntil = new Float64Array(CLASSES).fill(Number.NEGATIVE_INFINITY)
  private readonly locksUntil = new Float64Array(CLASSES).fill(Number.NEGATIVE_INFINITY)

  admit(rank: number, now: number): void {
    this.admitted[rank]! += 1
    this.sparesUntil[rank] = now + TOGETHER_MS
    for (let higher = 0; higher < rank; higher++) {
      if (now >= this.locksUntil[higher]!) continue
      this.inversions++
      return
    }
  }

  /** `chosen`: for the sake of others, and not since its own time is over. */
  refuse(rank: number, chosen: boolean, now: number): void {
    this.refused[rank]! += 1
    if (!chosen) return
    this.locksUntil[rank] = now + TOGETHER_MS
    for (let lower = rank + 1; lower < CLASSES; lower++) {
      if (now >= this.sparesUntil[lower]!) continue
      this.inversions++
      return
    }
  }

  /** A higher class was refused just now. */
  isLocked(rank: number, now: number): boolean {
    for (let higher = 0; higher < rank; higher++) if (now < this.locksUntil[higher]!) return true
    return false
  }

  /** So many classes are not locked: from the first to the first that was refused just now. */
  unlocked(now: number): number {
    for (let rank = 0; rank < CLASSES; rank++) if (now < this.locksUntil[rank]!) return rank + 1
    return CLASSES
  }

  /** Until when it is not to be refused, since a lower class was admitted; -Infinity when none was. */
  sparedUntil(rank: number): number {
    let last = Number.NEGATIVE_INFINITY
    for (let lower = rank + 1; lower < CLASSES; lower++) last = Math.max(last, this.sparesUntil[lower]!)
    return last
  }

  get counts(): { admitted: ClassCounts; refused: ClassCounts } {
    return { admitted: named(this.admitted), refused: named(this.refused) }
  }
}

function named(of: Float64Array): ClassCounts {
  const [criticalPlus = 0, critical = 0, sheddablePlus = 0, sheddable = 0] = of
  return { criticalPlus, critical, sheddablePlus, sheddable }
}
