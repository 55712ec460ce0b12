/** Somebody who waits for `bytes`. */
export class Turn {
  readonly share: ByteShare
  readonly bytes: number
  /** What it waits for has come. Called by who has the line. */
  readonly go: () => void
  /** @internal Where its bytes end, in virtual time. */ readonly finish: number
  /** @internal Among equals the first come. */ readonly serial: number
  /** @internal In the heap; -1: not there. */ place = -1

  constructor(share: ByteShare, bytes: number, go: () => void, finish: number, serial: number) {
    this.share = share
    this.bytes = bytes
    this.go = go
    this.finish = finish
    this.serial = serial
  }

  isBefore(other: Turn): boolean {
    return this.finish < other.finish || (this.finish === other.finish && this.serial < other.serial)
  }
}

/** Who shares a line: a stream, or all streams of one caller. */
export class ByteShare {
  /** @internal Where the last of its bytes ends, in virtual time. */ served = 0
}

/** Turns by where they end; anybody may leave from anywhere. Entering, leaving and the next one take log n steps. */
export class TurnHeap {
  private readonly turns: Turn[] = []

  get size(): number {
    return this.turns.length
  }

  get first(): Turn | undefined {
    return this.turns[0]
  }

  push(turn: Turn): void {
    this.turns.push(turn)
    this.rise(turn, this.turns.length - 1)
  }

  /** False when it was not there. */
  remove(turn: Turn): boolean {
    const { turns } = this
    const { place } = turn
    if (place < 0) return false
    turn.place = -1
    const last = turns.pop() as Turn
    if (last === turn) return true
    const parent = turns[(place - 1) >> 1]
    if (place > 0 && parent !== undefined && last.isBefore(parent)) this.rise(last, place)
    else this.sink(last, place)
    return true
  }

  private put(turn: Turn, place: number): void {
    this.turns[place] = turn
    turn.place = place
  }

  private rise(turn: Turn, from: number): void {
    let place = from
    while (place > 0) {
      const up = (place - 1) >> 1
      const parent = this.turns[up] as Turn
      if (!turn.isBefore(parent)) break
      this.put(parent, place)
      place = up
    }
    this.put(turn, place)
  }

  private sink(turn: Turn, from: number): void {
    const { turns } = this
    let place = from
    for (let down = 2 * place + 1; down < turns.length; down = 2 * place + 1) {
      const right = turns[down + 1]
      if (right?.isBefore(turns[down] as Turn) === true) down++
      const child = turns[down] as Turn
      if (turn.isBefore(child)) break
      this.put(child, place)
      place = down
    }
    this.put(turn, place)
  }
}
