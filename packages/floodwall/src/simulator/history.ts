// Did the same thing happen again?
//
// Every step of a run (an arrival, an attempt, an answer) goes into a digest: when, what, who, which. Two runs with one digest had the same
// history, to the last bit of every time. The mixing is that of MurmurHash3 (Austin Appleby), 32 bits, four words a step.
//
// Invariant: equal histories have equal digests; of two different ones, one pair in four thousand million has.

/** What can happen in a world. */
export const STEPS = [
  'begin',
  'attempt',
  'end',
  'arrive',
  'start',
  'finish',
  'leave',
  'refuse',
  'turn',
] as const satisfies readonly string[]

export type Step = (typeof STEPS)[number]

/** Sees every step: its time in milliseconds, what it was, the part of the world, and the number of the operation or request there. */
export type Trace = (at: number, step: Step, part: string, id: number) => void

/** Steps by number: names would have to be looked up on every call. */
export const BEGIN = 0
export const ATTEMPT = 1
export const END = 2
export const ARRIVE = 3
export const START = 4
export const FINISH = 5
export const LEAVE = 6
export const REFUSE = 7
export const TURN = 8

export class History {
  /** How many steps there were. */
  steps = 0
  private readonly trace: Trace | undefined
  private readonly parts: string[] = []
  private hash = 0
  private readonly time = new Float64Array(1)
  private readonly words: Uint32Array

  constructor(trace: Trace | undefined) {
    this.trace = trace
    this.words = new Uint32Array(this.time.buffer)
  }

  /** The number under which a part takes its steps. */
  enter(part: string): number {
    return this.parts.push(part) - 1
  }

  add(at: number, step: number, part: number, id: number): void {
    this.steps++
    const { time, words } = this
    // Minus zero equals zero, and has other bits.
    time[0] = at + 0
    let { hash } = this
    hash = mix(hash, words[0]!)
    hash = mix(hash, words[1]!)
    hash = mix(hash, (part << 4) | step)
    this.hash = mix(hash, id)
    if (this.trace !== undefined) this.trace(at, STEPS[step] as Step, this.parts[part] as string, id)
  }

  /** Eight hexadecimal digits. */
  get digest(): string {
    let hash = this.hash ^ this.steps
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    return ((hash ^ (hash >>> 16)) >>> 0).toString(16).padStart(8, '0')
  }
}

function mix(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51)
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
  const mixed = hash ^ k
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0
}
