import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

// Recordings of other projects lie in test/vectors, unchanged. Every file has a `source`, a `format` and `cases`; a case has a name,
// its configuration, and steps that are replayed in order.

export interface VectorCase<Config, Step> {
  readonly name: string
  readonly description?: string
  /** `upstream-defect`: a record of what to do better, not of what to do. */
  readonly tags?: readonly string[]
  readonly config: Config
  readonly steps: readonly Step[]
}

/** One file of recordings, and how much of it was replayed. */
export class Vectors<Config, Step> {
  readonly file: string
  readonly cases: readonly VectorCase<Config, Step>[]
  /** Steps replayed so far. */
  replayed = 0

  constructor(file: string) {
    const path = fileURLToPath(new URL(`../vectors/${file}`, import.meta.url))
    this.file = basename(path)
    this.cases = (JSON.parse(readFileSync(path, 'utf8')) as { cases: VectorCase<Config, Step>[] }).cases
  }

  /** Steps in the whole file. */
  get steps(): number {
    return this.cases.reduce((sum, { steps }) => sum + steps.length, 0)
  }

  /** Runs `play` on each step of a case, counts it, and says where it was when it threw. */
  replay(of: VectorCase<Config, Step>, play: (step: Step, index: number) => void): void {
    of.steps.forEach((step, index) => {
      try {
        play(step, index)
      } catch (cause) {
        throw new Error(`${this.file}, case "${of.name}", step ${index} ${JSON.stringify(step)}`, { cause })
      }
      this.replayed++
    })
  }

  /** The line that the test's output ends with. */
  get summary(): string {
    return `${this.file}: ${this.replayed} steps replayed`
  }
}
