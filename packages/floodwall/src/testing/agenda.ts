// What happens next?
//
// A binary heap over two typed arrays and a list. A heap of timer objects would allocate a boxed number for the time of each, and follow a
// pointer for each comparison.
//
// Invariant: `take` goes by time, and at one time by the order of `add`, so that the same plan always runs the same way.

/** Something that is due at a time. */
export interface Happening {
  happen(): void
}

const FIRST_SIZE = 64

export class Agenda {
  private times = new Float64Array(FIRST_SIZE)
  /** Doubles: 32 bits would wrap after an hour of simulated traffic. */
  private serials = new Float64Array(FIRST_SIZE)
  private readonly items: (Happening | undefined)[] = new Array<undefined>(FIRST_SIZE).fill(undefined)
  private size = 0
  private serial = 0

  get empty(): boolean {
    return this.size === 0
  }

  /** When the next one is due. There must be one. */
  get nextAt(): number {
    return this.times[0]!
  }

  add(at: number, item: Happening): void {
    if (this.size === this.times.length) this.grow()
    const { times } = this
    let place = this.size++
    while (place > 0) {
      const parent = (place - 1) >> 1
      // Its serial is the highest: among equals it stays below.
      if (at >= times[parent]!) break
      this.move(parent, place)
      place = parent
    }
    times[place] = at
    this.serials[place] = this.serial++
    this.items[place] = item
  }

  /** The next one, taken out. There must be one. */
  take(): Happening {
    const { times, serials, items } = this
    const first = items[0] as Happening
    const size = --this.size
    const at = times[size]!
    const serial = serials[size]!
    const last = items[size]
    items[size] = undefined
    if (size === 0) return first
    let place = 0
    for (let child = 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && this.isEarlier(child + 1, child)) child++
      const time = times[child]!
      if (at < time || (at === time && serial < serials[child]!)) break
      this.move(child, place)
      place = child
    }
    times[place] = at
    serials[place] = serial
    items[place] = last
    return first
  }

  private isEarlier(a: number, b: number): boolean {
    const { times, serials } = this
    const [one, other] = [times[a]!, times[b]!]
    return one < other || (one === other && serials[a]! < serials[b]!)
  }

  private move(from: number, to: number): void {
    this.times[to] = this.times[from]!
    this.serials[to] = this.serials[from]!
    this.items[to] = this.items[from]
  }

  private grow(): void {
    const { times, serials, items, size } = this
    this.times = new Float64Array(2 * size)
    this.serials = new Float64Array(2 * size)
    this.times.set(times)
    this.serials.set(serials)
    for (let i = 0; i < size; i++) items.push(undefined)
  }
}
