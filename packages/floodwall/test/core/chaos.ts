import { answered, breaker, bulkhead, type Call, deadline, type Done, failed, keyed, type Layer, type Outcome, pipeline, queue, rateLimit, retry, shadow, timeout, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import fc from 'fast-check'
import { type Left, layerOf, leftIn, NOTHING } from './fate.ts'

// Random houses, and what random callers and works do to them.

const few = fc.integer({ min: 1, max: 4 })
const short = fc.constantFrom(1, 20, 50, 100, 300)

const gates: fc.Arbitrary<Layer>[] = [
  fc.record({ consecutive: few, probes: few, slow: fc.boolean() }).map(({ slow, ...o }) => breaker({ ...o, openFor: 200, ...(slow ? { slowAfter: 50 } : {}) })),
  few.map((slots) => bulkhead({ slots })),
  fc.record({ rate: few, burst: few }).map((o) => rateLimit({ ...o, per: 100 })),
]
const gate = fc.oneof(...gates)

const layer: fc.Arbitrary<Layer> = fc.oneof(
  gate,
  gate,
  gate.map((of) => shadow({ of })),
  fc.record({ of: gate, max: few }).map((o) => keyed(o)),
  fc.record({ size: few, atMost: short, order: fc.constantFrom('fifo', 'lifo') }).map((o) => queue(o)),
  short.map((after) => timeout({ after })),
  short.map((within) => deadline({ within })),
  fc.record({ attempts: few, first: short, ratio: fc.constantFrom(0, 0.1, 1), minimum: few }).map(({ attempts, first, ratio, minimum }) => retry({ attempts, backoff: { first, atMost: 100 }, budget: { ratio, minimum } })),
)

export const layersOf: fc.Arbitrary<Layer[]> = fc.array(layer, { maxLength: 7 })

const verdicts: Verdict[] = ['success', 'failure', 'timeout', 'overload', 'ignored']

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

const plan: fc.Arbitrary<Plan> = fc.record({
  ms: fc.constantFrom(0, 0, 1, 30, 100, 400),
  ends: fc.constantFrom('answer', 'answer', 'fail', 'fail', 'throw', 'nothing ran'),
  verdict: fc.constantFrom(...verdicts),
  listens: fc.boolean(),
  holdMs: fc.constantFrom(0, 0, 0, 50, 300),
  within: fc.constantFrom(0, 10, 80, 500, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
  key: few,
  idempotent: fc.boolean(),
})

export const stepsOf: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ act: fc.constant('call' as const), plan }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('abort' as const), which: fc.nat(30) }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 10, 50, 200, 1000) }) },
  ),
  { maxLength: 30 },
)

/** A house in which everything is written down. */
export class Chaos {
  readonly world = new VirtualRuntime({ startAt: 1000, seed: 5 })
  readonly p: ReturnType<typeof pipeline>
  /** How often each call was settled. */
  readonly settled: number[] = []
  readonly outcomes: Outcome<unknown>[] = []
  readonly aborters: AbortController[] = []
  readonly faults: string[] = []
  /** Works that run now. */
  running = 0

  constructor(layers: readonly Layer[]) {
    this.p = pipeline('p', layers, { runtime: this.world })
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

  /** The work of call `id`, in callbacks; each attempt may have less time than the one before, never more. */
  work(plan: Plan) {
    let deadline = Number.POSITIVE_INFINITY
    return (call: Call, done: Done): void => {
      if (call.deadline > deadline) this.faults.push(`the deadline grew from ${deadline} to ${call.deadline}`)
      if (call.deadline > this.world.now() + plan.within) this.faults.push(`${call.deadline} is later than the caller said`)
      deadline = call.deadline
      this.running++
      let over = false
      const end = (): void => {
        if (over) return
        over = true
        this.running--
        cancel?.()
        done(outcomeOf(plan))
      }
      let cancel: (() => void) | undefined
      if (plan.holdMs > 0) {
        const ended = call.hold(plan.holdMs)
        if (plan.verdict !== 'ignored') this.world.after(plan.holdMs / 2, () => ended(plan.verdict))
      }
      if (plan.ends === 'throw') {
        this.running--
        throw new Error('thrown')
      }
      if (plan.ms === 0) return end()
      cancel = this.world.after(plan.ms, end)
      if (plan.listens) call.signal.addEventListener('abort', end)
    }
  }

  /** What must hold after every step. */
  look(): void {
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const s = value as Record<string, never>
      if (s['kind'] === 'bulkhead' && (s['used'] < 0 || s['used'] > s['slots'])) this.faults.push(`${s['used']} of ${s['slots']} slots used`)
      if (s['kind'] === 'rateLimit' && (s['tokens'] < -1e-9 || s['tokens'] > s['burst'] + 1e-9)) this.faults.push(`${s['tokens']} of ${s['burst']} tokens`)
      if (s['kind'] === 'queue' && s['waiting'] > s['size']) this.faults.push(`${s['waiting']} wait in ${s['size']} places`)
      if (s['kind'] === 'retry') {
        const { spent, allowed } = s['budget'] as { spent: number; allowed: number }
        if (spent < 0 || spent > allowed) this.faults.push(`${spent} of ${allowed} retries spent`)
      }
      if (s['kind'] === 'breaker') {
        const { size, free, running, good, bad } = s['probes'] as Record<string, number>
        if (s['state'] === 'halfOpen' && free! + running! + good! + bad! !== size) this.faults.push('a probe is lost')
      }
      for (const inner of Object.values(s)) look(inner)
    }
    look(this.p.inspect())
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

export const NO_REMAINS = { left: NOTHING, running: 0, unsettled: [], faults: [] }

function outcomeOf({ ends, verdict }: Plan): Outcome<unknown> {
  if (ends === 'answer') return answered('answer', verdict)
  return failed(new Error(ends), verdict === 'success' ? 'failure' : verdict, ends !== 'nothing ran')
}

/** Retries of a layer, and what its budget would have allowed over the whole run. */
export function retriesOf(chaos: Chaos, path: string): number {
  return layerOf(chaos.p, path)['retries'] as number
}
