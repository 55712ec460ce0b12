import type { Call } from '../core/call.ts'
import type { Init } from '../core/init.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Pipeline } from '../core/pipeline.ts'
import type { Done } from '../core/policy.ts'
import { parse } from '../core/schema.ts'
import type { Chance } from './chance.ts'
import {
  type Condition,
  type ConditionOptions,
  conditionOptions,
  type Fault,
  fateIn,
  vanishesIn,
  WELL,
} from './condition.ts'
import { ARRIVE, FINISH, LEAVE, REFUSE, START, TURN } from './history.ts'
import { type Ends, Load } from './load.ts'
import { ANSWERED, BROKEN, GONE, overloaded, RESET, Request, UNREACHABLE, type Work } from './request.ts'
import type { ServiceTime } from './service-time.ts'
import type { Target } from './target.ts'
import { isEmpty, pipelineOf, type Through } from './through.ts'
import type { World } from './world.ts'

// What happens to a request before and after its work, at servers of every sort: what is wrong with the server, its guard, the count.

/** What a reception must know. */
export interface ReceptionSettings {
  readonly service: ServiceTime
  readonly guard: Through
  /** The server hears that a caller has left, and knows his deadline. */
  readonly notices: boolean
  /** How long it takes to say no, in milliseconds. */
  readonly refusal: number
  readonly faults: readonly Fault[]
  /** What its work calls. */
  readonly calls?: { readonly to: Target; readonly through: Through } | undefined
}

/** The door of a server. Each request that comes in is ended here once, whoever ends it. */
export class Reception {
  readonly load: Load
  readonly work: Work
  readonly refusalMs: number
  readonly notices: boolean
  private condition: Condition = WELL
  private readonly world: World
  private readonly name: string
  private readonly part: number
  private readonly chance: Chance
  private readonly service: ServiceTime
  private readonly guard: Pipeline | null
  private readonly calls: { readonly to: Target; readonly pipeline: Pipeline } | null
  /** All that are inside, oldest first. */
  private readonly inside = new Set<Request>()
  private requests = 0

  constructor(world: World, name: string, settings: ReceptionSettings, makeWork: (reception: Reception) => Work) {
    // First what may throw: nothing of a part that is wrong must stay behind.
    this.guard = isEmpty(settings.guard) ? null : pipelineOf(world, name, settings.guard, `${name}.guard`)
    this.calls = callsOf(world, name, settings)
    this.world = world
    this.name = name
    this.part = world.history.enter(name)
    this.chance = world.chance(name)
    this.load = new Load(world.bucketMs)
    this.service = settings.service
    this.notices = settings.notices
    this.refusalMs = settings.refusal
    this.work = makeWork(this)
    for (const { from, condition } of settings.faults) world.at(from, () => this.change(condition))
  }

  /** A request comes in. */
  receive(caller: Call, done: Done): void {
    const { load, condition, chance } = this
    const now = this.world.now()
    // Both in any case: what is wrong with the server shifts nobody's chance.
    const sizeMs = this.service.draw(chance)
    const dice = chance.uniform()
    const request = new Request(this.work, this.requests++, now, sizeMs, dice, caller, done)
    if (this.notices) request.call.shrinkDeadline(caller.deadline)
    load.arrive(now)
    this.note(ARRIVE, request)
    if (vanishesIn(condition, dice)) return load.end('vanished', now)
    if (condition.down) {
      load.end('unreachable', now)
      this.world.plan(this.refusalMs, { happen: () => request.answer(UNREACHABLE) })
      return
    }
    this.inside.add(request)
    load.inside.change(1, now)
    this.work.arrive(request)
  }

  /** Asks the guard, which goes on with {@link Work.begin} or {@link Work.refuse}, now or later. */
  ask(request: Request): void {
    const { guard } = this
    if (guard === null) return this.work.begin(request)
    guard.start(
      (_, ended) => {
        // It went down while the request waited in the guard's room, or the guard tries again what can be done once.
        if (request.over || request.ended !== null) return ended(RESET)
        request.ended = ended
        this.work.begin(request)
      },
      (outcome) => this.passOn(request, outcome),
      this.askedOf(request),
    )
  }

  /** What the guard hears: besides what was told, how long the request has waited unseen. */
  private askedOf(request: Request): Init {
    const waitedMs = this.world.now() - request.arrivedAt
    const init = this.initOf(request)
    return waitedMs > 0 ? { ...init, waitedMs } : init
  }

  /** What the guard made of it. */
  private passOn(request: Request, outcome: Outcome<unknown>): void {
    const { rejection, ran, verdict } = outcome
    // A timeout of the guard's is a failure to those outside; and the work goes on.
    if (request.over || ran) return request.answer(verdict === 'timeout' || verdict === 'ignored' ? BROKEN : outcome)
    if (request.unwanted) return this.finish(request, GONE, 'dropped')
    this.refuse(request, rejection === undefined ? BROKEN : overloaded(rejection.retryAfterMs))
  }

  /** It will not be worked on. */
  refuse(request: Request, refusal: Outcome<unknown>): void {
    this.note(REFUSE, request)
    request.refusal = refusal
    this.work.refuse(request)
  }

  /** The first turn of its work, which meets the server as it is now. */
  start(request: Request): void {
    request.fate = fateIn(this.condition, request.dice)
    this.note(START, request)
    this.load.start(this.world.now() - request.arrivedAt)
  }

  /** What its work takes in all, as things are. */
  takes(request: Request): number {
    const { slow, errorsTake } = this.condition
    return request.fate === 'fails' && errorsTake !== undefined ? errorsTake : request.sizeMs * slow
  }

  /** Its time is over: worked on, well or badly, or refused. */
  complete(request: Request): void {
    if (request.refusal !== null) this.finish(request, request.refusal, 'refused')
    else if (request.fate === 'fails') this.finish(request, BROKEN, 'failed')
    else this.finish(request, ANSWERED, 'good')
  }

  /** Its work is over; the first end counts. */
  finish(request: Request, outcome: Outcome<unknown>, how: keyof Ends): void {
    if (request.over) return
    request.over = true
    const now = this.world.now()
    const { load } = this
    this.inside.delete(request)
    load.inside.change(-1, now)
    load.end(request.unwanted && (how === 'good' || how === 'failed') ? 'wasted' : how, now)
    this.note(FINISH, request)
    const { ended } = request
    if (ended === null) request.answer(outcome)
    else ended(outcome)
  }

  /** True when it called something, and {@link Work.resume} will go on. */
  callsOut(request: Request): boolean {
    const { calls } = this
    if (calls === null || request.fate !== 'answers') return false
    calls.pipeline.start(
      calls.to.serve,
      ({ verdict }) => {
        if (verdict !== 'success') request.fate = 'fails'
        if (!request.over) this.work.resume(request)
      },
      this.initOf(request),
    )
    return true
  }

  /** The caller has left. */
  left(request: Request): void {
    this.note(LEAVE, request)
  }

  /** What is wrong from now on. */
  become(options: ConditionOptions): void {
    const condition = parse(conditionOptions, options, `${this.name}.become`)
    // Not at once: whoever says so may stand in the middle of a request.
    this.world.plan(0, { happen: () => this.change(condition) })
  }

  private change(condition: Condition): void {
    const crashes = condition.down && !this.condition.down
    this.condition = condition
    this.world.history.add(this.world.now(), TURN, this.part, 0)
    for (const request of [...this.inside]) {
      if (crashes) this.finish(request, RESET, 'reset')
      else if (request.hung) {
        this.finish(request, BROKEN, 'hung')
        this.work.release(request)
      } else if (request.fate === 'hangs') request.fate = 'answers'
    }
    if (crashes) this.work.station.clear()
  }

  /** What the server's own pipelines hear of a request. */
  private initOf({ call }: Request): Init {
    if (!this.notices) return call.init
    const { criticality, cost, key, idempotent, data, method } = call
    const told = { criticality, cost, key, idempotent, data, parent: call }
    return method === undefined ? told : { ...told, method }
  }

  private note(step: number, request: Request): void {
    this.world.history.add(this.world.now(), step, this.part, request.id)
  }
}

function callsOf(world: World, name: string, { calls }: ReceptionSettings): { to: Target; pipeline: Pipeline } | null {
  if (calls === undefined) return null
  return { to: calls.to, pipeline: pipelineOf(world, `${name}/calls`, calls.through, `${name}.calls.through`) }
}
