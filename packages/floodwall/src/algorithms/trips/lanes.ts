// Which of an endpoint's methods is this?
//
// Methods become small numbers, so that a permit can carry one and an array can be indexed by it. The first ones get a number each, the
// rest shares lane 0 with calls that name none: strangers cannot fill the memory by inventing methods.
//
// Invariant: a lane is a whole number from 0 to 63, and the same name always has the same.

const MOST_NAMED = 63

export class Lanes {
  private readonly byName = new Map<string, number>()

  of(name: string): number {
    const known = this.byName.get(name)
    if (known !== undefined) return known
    const { size } = this.byName
    if (size >= MOST_NAMED) return 0
    this.byName.set(name, size + 1)
    return size + 1
  }
}
