import fc from 'fast-check'
import {
  answered,
  breaker,
  bulkhead,
  type Call,
  type Done,
  deadline,
  failed,
  hedge,
  keyed,
  type Layer,
  type Outcome,
  pipeline,
  queue,
  rateLimit,
  retry,
  shadow,
  timeout,
  type Verdict,
} from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { type Left, leftIn, NOTHING } from './fate.ts'

// Random houses, and what random callers and works do to them.

const few = fc.integer({ min: 1, max: 3 })
const short = fc.constantFrom(20, 50, 100, 300)

const aBulkhead = few.map((slots) => bulkhead({ slots }))
const aGate = fc.oneof(
  fc
    .record({ consecutive: few, probes: few, slow: fc.boolean() })
    .map(({ slow, ...o }) => breaker({ ...o, openFor: 200, ...(slow ? { slowAfter: 50 } : {}) })),
  aBulkhead,
  fc.record({ rate: fc.constantFrom(2, 20), burst: few }).map((o) => rateLimit({ ...o, per: 100 })),
)
const aQueue = fc
  .record({ size: fc.constantFrom(2, 10), atMost: short, order: fc.constantFrom('fifo', 'lifo') })
  .map((o) => queue(o))
const aTimeout = short.map((after) => timeout({ after }))
const aRetry = fc
  .record({ attempts: few, first: fc.constantFrom(1, 50), ratio: fc.constantFrom(0.1, 1), minimum: fc.nat(5) })
  .map(({ attempts, first, ...budget }) => retry({ attempts, backoff: { first, atMost: 100 }, budget }))

export const aHedge: fc.Arbitrary<Layer> = fc
  .record({ after: fc.constantFrom(10, 50), most: few, ratio: fc.constantFrom(0.1, 1), minimum: fc.nat(5) })
  .map(({ after, most, ...budget }) => hedge({ after, most, budget }))

/** Layers as people put them together, and then in any order. */
const someLayers: fc.Arbitrary<Layer[]> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(aQueue, aBulkhead) },
  { weight: 2, arbitrary: fc.tuple(aQueue, aGate, aBulkhead) },
  { weight: 3, arbitrary: fc.tuple(aRetry, aTimeout) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      aQueue,
      fc.record({ of: aBulkhead, max: few }).map((o) => keyed(o)),
    ),
  },
  { weight: 4, arbitrary: fc.tuple(aGate) },
  { weight: 1, arbitrary: fc.tuple(aGate.map((of) => shadow({ of }))) },
  { weight: 1, arbitrary: fc.tuple(fc.record({ of: aGate, max: few }).map((o) => keyed(o))) },
  { weight: 1, arbitrary: fc.tuple(aQueue) },
  { weight: 1, arbitrary: fc.tuple(aTimeout) },
  { weight: 1, arbitrary: fc.tuple(aRetry) },
  { weight: 1, arbitrary: fc.tuple(aHedge) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(100, 300, 1000).map((within) => deadline({ within }))) },
)

export const layersOf: fc.Arbitrary<Layer[]> = fc
  .array(someLayers, { maxLength: 4, size: 'max' })
  .map((parts) => parts.flat())

/** What happens, from a seed: a shorter list of the same seed is its beginning. */
export const stepsOf: fc.Arbitrary<Step[]> = fc
  .tuple(fc.nat(), fc.integer({ min: 1, max: 40 }))
  .map(([seed, length]) => {
    const random = seeded(seed)
    const pick = <T>(...from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    const some = (): Plan => ({
      ms: pick(0, 0, 1, 30, 30, 100, 400),
      ends: pick('answer', 'answer', 'answer', 'fail', 'fail', 'throw', 'nothing ran'),
      verdict: pick('success', 'success', 'success', 'failure', 'timeout', 'overload', 'ignored'),
      listens: random() < 0.5,
      holdMs: pick(0, 0, 0, 0, 50, 300),
      within: pick(0, 80, 500, ...Array<number>(9).fill(Number.POSITIVE_INFINITY)),
      key: pick(1, 2, 3),
      idempotent: random() < 0.7,
    })
    return Array.from({ length }, (): Step => {
      const dice = random()
      if (dice < 0.55) return { act: 'call', plan: some() }
      return dice < 0.7
        ? { act: 'abort', which: Math.floor(random() * length * 0.6) }
        : { act: 'pass', ms: pick(0, 1, 10, 50, 50, 200, 1000) }
    })
  })

/** One thing that happens. */
export type Step =
  | { readonly act: 'call'; readonly plan: Plan }
  | { readonly act: 'abort'; readonly which: number }
  | { readonly act: 'pass'; readonly ms: number }

/** What a work does, and how it was called. */
export interface Plan {
  /** Ends after so long; 0: at once. */
  readonly ms: number
  readonly ends: 'answer' | 'fail' | 'throw' | 'nothing ran'
  readonly verdict: Verdict
  /** Ends also when its signal fires. */
  readonly listens: boolean
  /** Held for so long after the answer; 0: not held. */
  readonly holdMs: number
  readonly within: number
  readonly key: number
  readonly idempotent: boolean
}

/** A house in which everything is written down. */
export class Chaos {
  readonly world = new VirtualRuntime({ startAt: 1000, seed: 5 })
  readonly p: ReturnType<typeof pipeline>
  /** How often each call was settled. */
  readonly settled: number[] = []
  readonly outcomes: Outcome<unknown>[] = []
  readonly aborters: AbortController[] = []
  readonly faults: string[] = []
  /** Works that run now, and streams that are held. */
  running = 0
  held = 0
  /** No more works than this may run at once. */
  private readonly most: number
  /** What the deadlines further out than any wait leave to each operation. */
  private readonly withinMs: number

  constructor(layers: readonly Layer[]) {
    this.p = pipeline('p', layers, { runtime: this.world })
    // Further out than a retry or a hedge a slot is for the operation: the work of one attempt may run beside that of another.
    const inside = layers.slice(layers.findLastIndex((layer) => layer.kind === 'retry' || layer.kind === 'hedge') + 1)
    const sizes = inside
      .filter((layer) => layer.kind === 'bulkhead')
      .map((layer) => (layer.options as { slots: number }).slots)
    this.most = Math.min(...sizes)
    const first = layers.findIndex(({ kind }) => kind === 'retry' || kind === 'hedge' || kind === 'queue')
    const outside = layers.slice(0, first < 0 ? layers.length : first).filter((layer) => layer.kind === 'deadline')
    this.withinMs = Math.min(...outside.map((layer) => (layer.options as { within: number }).within))
  }

  /** Says how call number `id` ended. */
  settle(id: number, outcome: Outcome<unknown>): void {
    this.settled[id] = (this.settled[id] ?? 0) + 1
    this.outcomes.push(outcome)
  }

  enter(): number {
    this.aborters.push(new AbortController())
    return this.settled.push(0) - 1
  }

  init(id: number, { within, key, idempotent }: Plan) {
    const signal = (this.aborters[id] as AbortController).signal
    return { signal, key, idempotent, ...(within === Number.POSITIVE_INFINITY ? {} : { within }) }
  }

  /** The work of a call that begins now, in callbacks; no attempt has more time than the operation. */
  work(plan: Plan) {
    const latest = this.world.now() + Math.min(plan.within, this.withinMs)
    return (call: Call, done: Done): void => {
      if (call.deadline > latest) this.faults.push(`a deadline of ${call.deadline}, where ${latest} was the last`)
      if (++this.running > this.most) this.faults.push(`${this.running} works run, in ${this.most} slots`)
      let over = false
      const end = (): void => {
        if (over) return
        over = true
        this.running--
        timer.cancel()
        done(outcomeOf(plan))
      }
      const timer = { cancel: () => {} }
      if (plan.holdMs > 0) {
        this.held++
        const ended = call.hold(plan.holdMs)
        // Some are ended by their owner, the others lapse.
        if (plan.verdict !== 'ignored') this.world.after(plan.holdMs / 2, () => ended(plan.verdict))
        this.world.after(plan.holdMs, () => this.held--)
      }
      if (plan.ends === 'throw') {
        this.running--
        throw new Error('thrown')
      }
      if (plan.ms === 0) return end()
      timer.cancel = this.world.after(plan.ms, end)
      if (plan.listens) call.signal.addEventListener('abort', end)
    }
  }

  /** What must hold at any time. */
  look(): void {
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const fault = faultOf(value as Seen)
      if (fault !== undefined) this.faults.push(fault)
      for (const inner of Object.values(value)) look(inner)
    }
    look(this.p.inspect())
    const idle = this.running === 0 && this.held === 0 && this.settled.every((times) => times === 1)
    if (idle && this.world.timers > 0) this.faults.push(`${this.world.timers} timers for nobody`)
  }

  /** What is left when all is over, with the faults on the way. */
  remains(): { left: Left; running: number; unsettled: number[]; faults: string[] } {
    return {
      left: leftIn(this.world, this.p),
      running: this.running,
      unsettled: this.settled.flatMap((times, id) => (times === 1 ? [] : [id])),
      faults: this.faults,
    }
  }
}

/** What the snapshots of several kinds show. */
interface Seen {
  readonly kind?: string
  readonly used: number
  readonly slots: number
  readonly tokens: number
  readonly burst: number
  readonly waiting: number
  readonly size: number
  readonly retries: number
  readonly hedges: number
  readonly budget: { readonly spent: number; readonly allowed: number }
  readonly state: string
  readonly probes: { readonly [count in 'size' | 'free' | 'running' | 'good' | 'bad']: number }
}

/** What a snapshot shows that must not be. */
function faultOf(seen: Seen): string | undefined {
  if (seen.kind === 'bulkhead') {
    const { used, slots } = seen
    return used < 0 || used > slots ? `${used} of ${slots} slots used` : undefined
  }
  if (seen.kind === 'rateLimit') {
    const { tokens, burst } = seen
    return tokens < -1e-9 || tokens > burst + 1e-9 ? `${tokens} of ${burst} tokens` : undefined
  }
  if (seen.kind === 'queue') return seen.waiting > seen.size ? `${seen.waiting} wait in ${seen.size} places` : undefined
  if (seen.kind === 'retry' || seen.kind === 'hedge') {
    const { budget, retries, waiting } = seen
    if (budget.spent < 0 || budget.spent > budget.allowed) return `${budget.spent} of ${budget.allowed} retries spent`
    if (seen.kind === 'hedge')
      return budget.spent > seen.hedges ? `${budget.spent} hedges spent, ${seen.hedges} sent` : undefined
    return budget.spent > retries + waiting ? `${budget.spent} retries spent, ${retries} made` : undefined
  }
  if (seen.kind !== 'breaker' || seen.state !== 'halfOpen') return undefined
  const { size, free, running, good, bad } = seen.probes
  return free + running + good + bad === size ? undefined : 'a probe is lost'
}

export const NO_REMAINS = { left: NOTHING, running: 0, unsettled: [], faults: [] }

function outcomeOf({ ends, verdict }: Plan): Outcome<unknown> {
  if (ends === 'answer') return answered('answer', verdict)
  return failed(new Error(ends), verdict === 'success' ? 'failure' : verdict, ends !== 'nothing ran')
}
