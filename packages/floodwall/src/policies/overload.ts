import { comeAgainMs } from '../algorithms/admission/come-again.ts'
import { Demand } from '../algorithms/admission/demand.ts'
import { ADMIT, BELOW_LEVEL, Doorkeeper, WAIT } from '../algorithms/admission/doorkeeper.ts'
import { levelText } from '../algorithms/admission/level.ts'
import { keepStanding, standingAtDoor } from '../algorithms/admission/standing.ts'
import { rankOf } from '../algorithms/queues/class-line.ts'
import type { Call } from '../core/call.ts'
import { type Reason, type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import { type Kind, kindOf } from '../core/layer.ts'
import { refused, type Verdict } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'
import { systemRuntime, unixNow } from '../core/system.ts'
import { OverloadLine, Waiter } from './overload-line.ts'
import {
  keeperSettings,
  keeperShows,
  type OverloadOptions,
  type OverloadSettings,
  overloadOptions,
  overloadSnapshot,
} from './overload-options.ts'
import { Entered, Slots } from './overload-slots.ts'
import { Turn } from './overload-turn.ts'
import { explainWait, levelRefuser, turned } from './overload-words.ts'

// How does a server do its best at ten times its load? It takes as many calls at once as it can work on, lets some wait, and refuses the others
// at once, the least important first. What decides is in `algorithms/admission`; here are the calls themselves, those who wait, and their time.

class Overload implements Policy, Refuser {
  readonly kind = 'overload'
  readonly path: string
  private readonly env: Env
  private settings: OverloadSettings
  private readonly keeper: Doorkeeper
  private readonly line: OverloadLine
  private readonly slots: Slots
  private readonly loop: Turn
  private readonly byLevel: Refuser
  /** Unix time minus the runtime's: cohorts change at the same moment in all processes. */
  private readonly epochMs: number
  private readonly demand: Demand
  private wasOverloaded = false
  private tickets = 0
  private waking = false
  private closed = false

  constructor(settings: OverloadSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.keeper = new Doorkeeper(keeperSettings(settings, env))
    this.line = new OverloadLine(env, (waiter, now) => this.expire(waiter, now))
    this.demand = new Demand(env.precise())
    this.slots = new Slots(this.path, env, this.keeper, () => this.wake())
    this.loop = new Turn(env, () => this.wake())
    this.epochMs = env.now === systemRuntime.now ? unixNow() - env.now() : 0
    this.byLevel = levelRefuser(this.kind, this.path)
  }

  /** Other settings; what was learned and who waits stays. The start of the limit has been. */
  reconfigure(settings: OverloadSettings): void {
    this.settings = settings
    this.keeper.reconfigure(keeperSettings(settings, this.env))
    // There may be room for more, when all layers are what they will be.
    this.wakeSoon()
  }

  run(call: Call, next: Next, done: Done): void {
    this.enter(call, stepFrom(next), new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => this.enter(call, inner, sink)
  }

  private enter(call: Call, inner: Step, sink: Sink): void {
    const { keeper, line, env } = this
    if (this.closed) return this.refuse(sink, rankOf(call.criticality), 'closed', 0, 0)
    const { waitedMs = 0, standsFor = 1 } = call.init
    // Who tells of a wait has read the clock to know of it, just now.
    const now = call.init.waitedMs === undefined ? env.precise() : env.now()
    const rank = rankOf(call.criticality)
    this.demand.came(now, standsFor)
    const standing = keeper.overloaded
      ? standingAtDoor(call, Math.floor((now + this.epochMs) / this.settings.cohorts.rotate), env.random())
      : -1
    const metAt = waitedMs > 0 ? this.loop.met(now) : now
    const answer = keeper.arrive(rank, standing, waitedMs, line.size, now, standsFor, metAt)
    // What goes on stands there in all that is done for it; a refusal, of which there may be many, keeps nothing.
    if (standing >= 0 && (answer === ADMIT || answer === WAIT)) keepStanding(call, standing)
    if (keeper.overloaded !== this.wasOverloaded) this.turn(now)
    if (answer === ADMIT) return this.admit(call, inner, sink, rank, true, now)
    if (this.settings.shadow) {
      if (answer !== WAIT) keeper.classes.refuse(rank, true, now)
      return this.admit(call, inner, sink, rank, answer === WAIT, now)
    }
    if (answer === WAIT) return this.wait(call, inner, sink, rank, now)
    keeper.classes.refuse(rank, true, now)
    if (answer === BELOW_LEVEL) {
      const retryAfterMs = comeAgainMs(rank, env.random())
      const place = keeper.lastPlace
      return sink.settle(refused(new Rejection(this.byLevel, 'overloaded', retryAfterMs, place, keeper.level)))
    }
    this.refuse(sink, rank, 'overloaded', waitedMs, keeper.boundMs(rank))
  }

  private admit(call: Call, inner: Step, sink: Sink, rank: number, straight: boolean, now: number): void {
    const inFlight = this.keeper.begun(rank, straight, call.waitedMs, now)
    const entered = new Entered(this, call, sink, now, inFlight)
    try {
      inner(call, entered)
    } catch (error) {
      // A fault of ours, or of who was told: it must not cost a place.
      if (!entered.over) this.keeper.released()
      throw error
    }
  }

  private wait(call: Call, inner: Step, sink: Sink, rank: number, now: number): void {
    const { keeper, line } = this
    const { places } = line
    if (call.deadline !== Number.POSITIVE_INFINITY) {
      const needs = keeper.usualMs + keeper.waitFor(places.before(rank, rank >= keeper.newestFrom(line.size)))
      // Who waits for the end of the turn alone is no worse off than without it.
      const left = call.deadline - now
      if (left < needs && !keeper.overloaded && keeper.free && line.size === 0)
        return this.admit(call, inner, sink, rank, false, now)
      if (left < needs) return this.turnAway(sink, rank, 'deadline', left, needs, now)
    }
    let leaves: Waiter | undefined
    if (line.size >= this.settings.size && keeper.free) this.loop.goOn()
    if (line.size >= this.settings.size) {
      leaves = places.last(keeper.overloaded)
      if (leaves === undefined || leaves.rank <= rank)
        return this.turnAway(sink, rank, 'queue-full', line.size, this.settings.size, now)
      line.remove(leaves)
      leaves.call.resume()
    }
    const waiter = new Waiter(call, sink, rank, this.tickets++, now)
    waiter.go = this.env.bind(() => this.admit(call, inner, sink, rank, false, this.env.precise()))
    waiter.dueAt = this.dueAt(waiter)
    line.add(waiter)
    call.wait((cancelled) => {
      line.remove(waiter)
      sink.settle(cancelled)
    })
    // Last of all: what he does then may bring others here.
    if (leaves !== undefined) {
      const { size } = this.settings
      this.turnAway(leaves.sink, leaves.rank, 'queue-full', size, size, now)
    }
    line.sweep(now)
    this.slots.watch()
  }

  /** Until when it is of use that it waits. */
  private dueAt({ call, rank, since }: Waiter): number {
    const { keeper } = this
    return Math.min(since + keeper.patienceMs(rank, call.waitedMs), call.deadline - keeper.usualMs)
  }

  private expire(waiter: Waiter, now: number): void {
    const { call, sink, rank } = waiter
    const { keeper } = this
    if (keeper.overloaded) {
      const spared = keeper.classes.sparedUntil(rank)
      const until = Math.max(spared, waiter.since - call.waitedMs + keeper.lastMs(rank, this.line.size))
      waiter.dueAt = Math.min(until, waiter.since + this.settings.atMost, call.deadline - keeper.usualMs)
      if (waiter.dueAt > now) return this.line.back(waiter)
    }
    if (!call.resume()) return
    const left = call.deadline - now
    const { usualMs } = keeper
    if (left <= usualMs) this.turnAway(sink, rank, 'deadline', left, usualMs, now)
    else {
      const waitedMs = waiter.waitedMs(now)
      this.turnAway(sink, rank, keeper.overloaded ? 'overloaded' : 'queue-timeout', waitedMs, waitedMs, now)
    }
  }

  /** The surge has begun, or is over: those who wait have less time, or more. */
  private turn(now: number): void {
    const { overloaded, level } = this.keeper
    this.wasOverloaded = overloaded
    const told = turned(overloaded, this.line.size, level)
    this.env.emit({ type: 'state', at: now, path: this.path, ...told })
    this.line.retime((waiter) => this.dueAt(waiter), now)
  }

  /** @internal The outcome is known. */
  ended({ call, since, inFlight }: Entered, verdict: Verdict, ran: boolean): void {
    const { keeper } = this
    if (!ran) return this.free()
    const now = this.env.precise()
    // Who leaves after 98 of a hundred would be done tells as much as a timeout; where all do so, nothing else tells anything.
    const told = verdict === 'ignored' && now - since > (keeper.targetMs || Infinity) ? 'timeout' : verdict
    keeper.evidence(now - since, inFlight, told, this.line.size, now)
    if (!call.running) return this.free()
    this.slots.keep(call, verdict)
    // What was learned may have raised the limit.
    this.wake()
  }

  /** The work has really ended: a place is free. */
  private free(): void {
    this.keeper.released()
    this.wake()
  }

  /** A loop, not a recursion: a waiter that ends at once frees the place for the next while we are still here. */
  private wake(): void {
    if (this.waking || this.line.size === 0) return
    this.waking = true
    try {
      this.letIn(this.env.precise())
    } catch (error) {
      // Who throws does not keep the others from their turn.
      this.wakeSoon()
      throw error
    } finally {
      this.waking = false
    }
    if (this.line.size > 0) this.slots.watch()
  }

  private wakeSoon(): void {
    if (this.line.size > 0) this.env.after(0, () => this.wake())
  }

  private letIn(now: number): void {
    const { keeper, line } = this
    line.sweep(now)
    while (keeper.free || this.settings.shadow) {
      const waiter = line.next(keeper.newestFrom(line.size))
      if (waiter === undefined) break
      line.remove(waiter)
      if (!waiter.call.resume()) continue
      if (this.settings.shadow || keeper.mayGo(waiter.rank, now)) {
        waiter.go()
        if (line.size > 0 && this.loop.isLong(now)) return
      } else this.turnAway(waiter.sink, waiter.rank, 'overloaded', waiter.waitedMs(now), waiter.waitedMs(now), now)
    }
  }

  private turnAway(sink: Sink, rank: number, reason: Reason, value: number, limit: number, now: number): void {
    this.keeper.classes.refuse(rank, reason === 'overloaded', now)
    this.refuse(sink, rank, reason, value, limit)
  }

  private refuse(sink: Sink, rank: number, reason: Reason, value: number, limit: number): void {
    const never = reason === 'closed' || reason === 'deadline'
    const retryAfterMs = never ? 0 : comeAgainMs(rank, this.env.random())
    sink.settle(refused(new Rejection(this, reason, retryAfterMs, Math.max(0, value), limit, never)))
  }

  explain(rejection: Rejection): string {
    return explainWait(rejection)
  }

  /** The admission level, for callers who want to refuse what would be refused here: `'512'` admits all. */
  levelText(): string {
    return levelText(this.keeper.posted(this.env.precise()))
  }

  get waiting(): number {
    return this.line.size
  }

  close(): void {
    this.closed = true
    for (let waiter = this.line.places.next(false); waiter !== undefined; waiter = this.line.places.next(false)) {
      this.line.remove(waiter)
      if (waiter.call.resume()) this.refuse(waiter.sink, waiter.rank, 'closed', 0, 0)
    }
  }

  inspect(now: number): Snapshot {
    const { kind, path, keeper } = this
    const offeredPerS = this.demand.perSecond(now)
    return {
      ...{ kind, path, ...keeperShows(keeper, now), waiting: this.line.size },
      delayMs: this.line.delayMs(now),
      ...{ offeredPerS, wanted: (offeredPerS / 1000) * keeper.knee.baseMs },
    }
  }
}

/** The whole of overload protection, with nothing to tune. First in the pipeline of a server. */
export const overload: Kind<OverloadOptions, OverloadSettings> = kindOf({
  kind: 'overload',
  options: overloadOptions,
  snapshot: overloadSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Overload)) return new Overload(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
