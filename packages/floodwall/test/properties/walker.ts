import type { Ask, Gate, Layer, Permit, Snapshot, Verdict } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { VERDICTS } from '../support/asks.ts'
import type { BreakerSnapshot } from '../support/breakers.ts'

/** Longer than any gate here stays shut. */
const LONG_MS = 10_000
const KEYS = ['a', 'b', 'c', 1, '']

/** The most that may be inside, with one key and in all. */
export interface Bounds {
  readonly perKey?: number
  readonly inAll?: number
}

type Key = string | number

interface Held {
  readonly permit: Permit
  readonly key: Key
}

const AT_ONCE = new Error('at once')

/** Walks at random over one gate, one interleaving after the other. What a gate must keep, it checks on the way. */
export class Walker {
  private readonly gate: Gate
  private readonly random: () => number
  /** It refuses nobody. */
  private readonly never: boolean
  /** It counts who is inside: as good as new when all have left. */
  private readonly counts: boolean
  /** As good as new when it was left alone for a while. */
  private readonly fills: boolean
  /** As the gate is told; may step back. `newest` is the latest so far. */
  private now = 1000
  private newest = 1000
  private readonly held: Held[] = []
  private readonly perKey: number
  private readonly inAll: number
  private last: Permit | undefined
  private lent = 0
  private ended = 0

  constructor(layer: Layer, seed: number, { perKey = Infinity, inAll = Infinity }: Bounds = {}) {
    const world = new VirtualRuntime({ seed, startAt: 1000 })
    this.gate = layer.build({ ...world.env('walked'), emit: () => {} }) as Gate
    this.random = seeded(seed)
    this.perKey = perKey
    this.inAll = inAll
    this.never = this.gate.kind === 'shadow'
    const kinds = parts(this.gate.inspect(1000)).map(({ kind }) => kind)
    this.counts = kinds.includes('bulkhead')
    this.fills = kinds.includes('rateLimit')
  }

  /** One interleaving: some steps, then every permit ends; then nothing is in flight, and after a while the next call is admitted. */
  walk(): void {
    for (let steps = 2 + this.below(10); steps > 0; steps--) this.step()
    while (this.held.length > 0) this.endOne()
    this.expectNothingInFlight()
    const { gate } = this
    if (this.counts) {
      if (gate.idle?.(this.now) !== true) throw new Error('all have left, and it is not idle')
    } else {
      // Not each time: the gates shall come into every state.
      if (this.below(4) > 0) return
      this.newest += LONG_MS
      this.now = this.newest
      if (this.fills && gate.idle?.(this.now) !== true) throw new Error('all was earned, and it is not idle')
    }
    const next = this.acquire()
    if (next === undefined) throw new Error('the next call was refused')
    this.endOne()
    this.expectNothingInFlight()
  }

  private below(n: number): number {
    return Math.floor(this.random() * n)
  }

  private step(): void {
    const dice = this.below(20)
    if (dice < 10) this.acquire()
    else if (dice < 15) this.endOne()
    else if (dice < 16) this.endAgain()
    else this.pass()
    // Reading is most of the cost, and what has gone wrong once mostly stays wrong until the end.
    if (this.below(3) === 0) check(this.gate.inspect(this.now))
  }

  private acquire(): Permit | undefined {
    const key = KEYS[this.below(KEYS.length)] as Key
    const ask: Ask = { now: this.now, deadline: Infinity, criticality: 'critical', cost: 1, key }
    const answer = this.gate.tryAcquire(ask)
    if (answer.ok) {
      this.held.push({ permit: answer, key })
      this.lent++
      within('inside', this.held.length, 0, this.inAll)
      if (this.perKey < Infinity) within('inside with one key', this.insideWith(key), 0, this.perKey)
      return answer
    }
    if (this.never) throw new Error('a shadow refused')
    if (!(answer.retryAfterMs >= 0) || !Number.isFinite(answer.retryAfterMs)) throw new Error(`${answer.retryAfterMs}`)
    return undefined
  }

  private insideWith(key: Key): number {
    return this.held.filter((other) => other.key === key).length
  }

  private endOne(): void {
    if (this.held.length === 0) return
    const { permit } = this.held.splice(this.below(this.held.length), 1)[0] as Held
    const how = this.below(8)
    if (how === 7) permit.cancel(this.now)
    else if (how === 6) this.settleAsAThrow(permit)
    else permit.settle(VERDICTS[how % 5] as Verdict, this.below(3) * 15, this.now)
    this.ended++
    this.last = permit
    if (permit.open) throw new Error('a permit that was ended is open')
  }

  /** As around work that throws at once, with a `finally` that means well. */
  private settleAsAThrow(permit: Permit): void {
    try {
      throw AT_ONCE
    } catch {
      permit.settle('failure', 0, this.now)
    } finally {
      permit.settle('success', 0, this.now)
    }
  }

  /** A second end is none. */
  private endAgain(): void {
    if (this.random() < 0.5) this.last?.cancel(this.now)
    else this.last?.settle('failure', 1, this.now)
  }

  private pass(): void {
    const dice = this.below(8)
    if (dice === 0) this.now -= this.below(500)
    else if (dice === 1) this.now = this.newest
    else if (dice < 7) this.now += this.random() * 30
    // Probes lapse, breakers reopen, buckets fill.
    else this.now += this.below(3000)
    if (this.now > this.newest) this.newest = this.now
  }

  private expectNothingInFlight(): void {
    if (this.lent !== this.ended) throw new Error(`${this.lent} permits lent, ${this.ended} ended`)
    check(this.gate.inspect(this.now))
  }
}

/** A gate and the gates inside it. */
function parts(shown: Snapshot): Snapshot[] {
  const inner = [shown['of'], shown['others']].filter((part) => part !== undefined) as Snapshot[]
  return [shown, ...inner.flatMap(parts)]
}

/** What a gate shows must keep at all times. */
function check(shown: Snapshot): void {
  if (shown.kind === 'breaker') checkBreaker(shown)
  else if (shown.kind === 'bulkhead') within('used slots', shown['used'], 0, shown['slots'])
  else if (shown.kind === 'rateLimit')
    within('tokens', shown['tokens'], -(shown['burst'] as number) - 1e-9, shown['burst'])
  else check((shown['of'] ?? shown['others']) as Snapshot)
}

function checkBreaker(shown: Snapshot): void {
  const { size, free, running, good, bad } = shown['probes'] as BreakerSnapshot['probes']
  if (Math.min(free, running, good, bad) < 0 || free + running + good + bad !== size) {
    throw new Error(`probes: ${JSON.stringify(shown['probes'])}`)
  }
  within('probeInMs', shown['probeInMs'], 0, Number.MAX_VALUE)
}

function within(name: string, value: unknown, least: number, most: unknown): void {
  if (typeof value === 'number' && value >= least && value <= (most as number)) return
  throw new Error(`${name}: ${String(value)} is not from ${least} to ${String(most)}`)
}
