import fc from 'fast-check'
import {
  type Call,
  type Criticality,
  type Done,
  gate,
  type Init,
  type Outcome,
  Partitions,
  type Pipeline,
  pipeline,
  type QueueOptions,
  queue,
  Semaphore,
  type Verdict,
} from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { afterAll, describe, expect, test } from 'vitest'

// Calls that come, end, throw, are cancelled, run out of time or patience, make room, or begin others where they hear of it: whatever happens,
// in whatever order, nothing is in flight at the end, and the next call is admitted.

const TOTAL = 1_000_000
const RUNS = 10
const SLOTS = 2
const CLASSES: readonly Criticality[] = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable']
const VERDICTS: readonly Verdict[] = ['success', 'success', 'failure', 'timeout', 'overload', 'ignored']

const rooms: readonly [name: string, options: QueueOptions, partitioned?: boolean][] = [
  ['fifo', { size: 3, atMost: 40 }],
  ['lifo', { size: 3, atMost: 40, order: 'lifo' }],
  ['adaptive, by excess', { size: 4, atMost: 200, order: 'adaptive', codel: { interval: 10 } }],
  ['adaptive, by age', { size: 4, atMost: 200, order: 'adaptive', codel: { target: 5, interval: 20, trigger: 'age' } }],
  ['judged at the turn', { size: 4, atMost: 200, codel: { target: 2, interval: 10, at: 'turn' } }],
  ['before partitions', { size: 4, atMost: 100, order: 'adaptive', codel: {} }, true],
]

class Fair {
  private readonly world: VirtualRuntime
  private readonly random: () => number
  private readonly slots: Semaphore
  private readonly p: Pipeline
  private begun = 0
  private ended = 0
  private running = 0
  private readonly doors: ((verdict: Verdict) => void)[] = []
  private readonly aborters: AbortController[] = []

  constructor(options: QueueOptions, partitioned: boolean, seed: number) {
    this.world = new VirtualRuntime({ seed, startAt: 1000 })
    this.random = seeded(seed)
    this.slots = new Semaphore({ slots: SLOTS }, this.world.env('slots'))
    const shares = { criticalPlus: 0.5, critical: 0.3 }
    const inner = partitioned ? new Partitions(this.slots, { shares, by: 'criticality', keepFor: 50 }) : this.slots
    this.p = pipeline('p', [queue(options), gate(inner)], { runtime: this.world })
  }

  private below(n: number): number {
    return Math.floor(this.random() * n)
  }

  walk(): void {
    for (let steps = 2 + this.below(7); steps > 0; steps--) this.step()
    // Who hears of an end may begin another.
    do {
      while (this.doors.length > 0) this.doors.pop()?.('success')
      this.world.advance(500)
    } while (this.doors.length > 0)
    this.aborters.length = 0
    this.expectNothing()
    let admitted = false
    this.p.start(
      (_, done) => {
        admitted = true
        done(outcomeOf('success'))
      },
      () => {},
    )
    if (!admitted) throw new Error('the next call was not admitted')
    this.expectNothing()
  }

  private expectNothing(): void {
    const { begun, ended, running, world, slots, p } = this
    const { waiting } = p.find('queue') as { waiting?: number }
    const left = { lost: begun - ended, running, waiting, slots: SLOTS - slots.available, timers: world.timers }
    if (Object.values(left).some((count) => count !== 0)) throw new Error(JSON.stringify(left))
  }

  private step(): void {
    const dice = this.below(16)
    if (dice < 8) this.begin(2)
    else if (dice < 11) this.doors.splice(this.below(this.doors.length), 1)[0]?.(VERDICTS[this.below(6)] as Verdict)
    else if (dice < 12) this.aborters.splice(this.below(this.aborters.length), 1)[0]?.abort('left')
    else this.world.advance(this.below(4) * this.below(15))
  }

  /** `more`: how deep one may begin others where it hears of its end. */
  private begin(more: number): void {
    const dice = this.below(16)
    const criticality = CLASSES[this.below(4)] as Criticality
    let init: Init = dice < 4 ? { criticality } : dice < 8 ? { criticality, within: 1 + this.below(60) } : {}
    if (dice === 15) {
      const aborter = new AbortController()
      this.aborters.push(aborter)
      init = { criticality, signal: aborter.signal }
    }
    this.begun++
    let over = false
    this.p.start(
      (call, done) => this.work(call, done),
      () => {
        if (over) throw new Error('ended twice')
        over = true
        this.ended++
        if (more > 0 && this.below(8) === 0) this.begin(more - 1)
      },
      init,
    )
  }

  private work(call: Call, done: Done): void {
    if (++this.running > SLOTS) throw new Error(`${this.running} works in ${SLOTS} slots`)
    const dice = this.below(12)
    if (dice === 0) {
      this.running--
      throw new Error('thrown')
    }
    let open = true
    const end = (verdict: Verdict): void => {
      if (!open) return
      open = false
      this.running--
      done(outcomeOf(verdict))
      // A second end is none.
      done(outcomeOf('failure'))
    }
    if (dice < 3) end('success')
    else if (dice < 8) this.world.after(this.below(40), () => end(VERDICTS[this.below(6)] as Verdict))
    else this.doors.push(end)
    if (dice === 11) call.signal.addEventListener('abort', () => end('ignored'))
  }
}

function outcomeOf(verdict: Verdict): Outcome<unknown> {
  const ok = verdict === 'success'
  const rest = { verdict, ran: true, rejection: undefined, retryAfterMs: 0, noRetry: false, error: undefined }
  return ok ? { ok, value: 1, ...rest } : { ok, value: undefined, ...rest }
}

describe('a million interleavings of a queue', () => {
  let interleavings = 0
  const each = Math.ceil(TOTAL / rooms.length / RUNS)

  test.each(rooms)('%s', { timeout: 120_000 }, (...[, options, partitioned]) => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const fair = new Fair(options, partitioned === true, seed)
        for (let i = 0; i < each; i++) fair.walk()
        interleavings += each
      }),
      { seed: 43, numRuns: RUNS },
    )
  })

  test('none is left out', () => {
    expect(interleavings).toBeGreaterThanOrEqual(TOTAL)
  })

  afterAll(() => console.log(`${interleavings} interleavings through queues`))
})
