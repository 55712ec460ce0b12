import { backoffMs } from '../algorithms/retry/backoff.ts'
import { Alarm } from '../core/alarms.ts'
import { Call } from '../core/call.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Done, Next } from '../core/policy.ts'
import type { Happening } from '../testing/agenda.ts'
import { ATTEMPT, BEGIN, END } from './history.ts'
import type { Population } from './population.ts'

/** The reason that an attempt hears when its caller's patience is over. */
const LEFT = Object.assign(new Error('the caller has left'), { name: 'AbortError' })

/** A caller does no work of its own. */
const NO_WORK: Next = () => {}

/** What one client wants: attempts until one succeeds, or until he has had enough. */
export class Operation extends Alarm implements Happening {
  private readonly population: Population
  private readonly id: number
  private readonly begunAt: number
  private readonly over: (() => void) | null
  private attempts = 0
  /** On whose behalf the attempt is made: who leaves, cancels it. */
  private caller: Call | null = null
  private left = false

  constructor(population: Population, id: number, over: (() => void) | null) {
    super()
    this.population = population
    this.id = id
    this.begunAt = population.world.now()
    this.over = over
  }

  begin(): void {
    this.population.tally.begin(this.begunAt)
    this.note(BEGIN)
    this.happen()
  }

  /** It is time for an attempt. */
  happen(): void {
    const { pipeline, to, init, host, alarms, tally, world } = this.population
    this.attempts++
    tally.attempt(world.now())
    this.note(ATTEMPT)
    if (alarms === null) return pipeline.start(to.serve, this.settled, init)
    this.left = false
    this.caller = new Call(host, NO_WORK, true, init)
    alarms.add(this)
    const { idempotent, criticality } = init
    // Written out: a spread would cost as much as the whole call.
    pipeline.start(to.serve, this.settled, { idempotent, criticality, parent: this.caller })
  }

  /** The patience is over. */
  override ring(): void {
    this.left = true
    this.caller?.cancel(LEFT, 'ignored')
  }

  private readonly settled: Done = (outcome) => {
    const { alarms, retries, backoff, waits, world } = this.population
    if (!this.left) alarms?.remove(this)
    const succeeded = outcome.verdict === 'success' && !this.left
    if (succeeded || this.attempts > retries) return this.end(outcome)
    world.plan(backoffMs(backoff, this.attempts, waits.uniform()), this)
  }

  private end(outcome: Outcome<unknown>): void {
    const { tally, world } = this.population
    const now = world.now()
    tally.end(outcome, this.left, now - this.begunAt, now)
    this.note(END)
    this.over?.()
  }

  private note(step: number): void {
    const { world, part } = this.population
    world.history.add(world.now(), step, part, this.id)
  }
}
