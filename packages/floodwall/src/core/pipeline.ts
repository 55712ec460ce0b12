import { Aborts } from './aborts.ts'
import { Admission } from './admission.ts'
import { onBehalf } from './ambient.ts'
import { Call } from './call.ts'
import { type Built, Chain } from './chain.ts'
import { Counts } from './counts.ts'
import { DETACH_MS, Detachments } from './detachments.ts'
import type { Duration } from './duration.ts'
import { tie, tied } from './edge.ts'
import { type FloodEvent, type Listener, Listeners } from './event.ts'
import { type Permit, type Refuser, Rejection, type Snapshot } from './gate.ts'
import { type Criticality, type Host, type Init, NOTHING, type Run } from './init.ts'
import { type Layer, showOptions } from './layer.ts'
import { isNative, isThenable, judgeTraced, leaf, verdictOf } from './leaf.ts'
import { answered, type Classify, type Outcome, refused, verdictByDefault } from './outcome.ts'
import type { Done, Next } from './policy.ts'
import { Promised, ready, rejectSoon } from './promised.ts'
import { Refusals } from './refusals.ts'
import { type Env, envOf, type Runtime, type Shared } from './runtime.ts'
import { parse, spanOrZero } from './schema.ts'
import { Answer, type Sink, type Task } from './step.ts'
import { systemRuntime } from './system.ts'

/** What a pipeline may be told besides its layers. */
export interface PipelineOptions {
  /** Where time, chance and timers come from. Default: the real ones. */
  readonly runtime?: Runtime
  /** Turns answers and errors into verdicts. Default: {@link verdictByDefault}. */
  readonly classify?: Classify
  /** For calls that do not say. Default: `critical`. */
  readonly criticality?: Criticality
  /** Objects that pipelines share by name. Default: none are shared. */
  readonly shared?: Shared
  /** The longest that `call.detach` gives; 0: nobody may. Default 1 min. */
  readonly detachAtMost?: Duration
}

/**
 * Layers around work, outermost first. Sync and callbacks inside, promises at the edge; throws only at the edge, and what it throws is the
 * work's own error by identity, a `RejectedError` (nothing ran) or a `TimeoutError`.
 */
export class Pipeline {
  readonly kind = 'pipeline'
  readonly path: string
  /** @internal */ readonly env: Env
  /** @internal */ readonly host: Host
  /** Who refuses in the name of the pipeline itself. */
  private readonly door: Refuser
  private readonly listeners = new Listeners()
  private readonly refusals = new Refusals()
  private readonly counts = new Counts()
  private running = 0
  private closed = false
  /** @internal */ chain: Chain

  constructor(name: string, layers: readonly Layer[], options: PipelineOptions = {}) {
    const {
      runtime = systemRuntime,
      classify = verdictByDefault,
      criticality = 'critical',
      shared = new Map(),
      detachAtMost = DETACH_MS,
    } = options
    this.path = name
    this.door = { kind: this.kind, path: name, explain: explainDoor }
    this.env = { ...envOf(runtime, name, shared), emit: (event) => this.tell(event, runtime) }
    this.host = {
      env: this.env,
      classify,
      criticality,
      aborts: new Aborts(),
      ambient: this.env.ambient,
      detachments: new Detachments(parse(spanOrZero, detachAtMost, `${name}.detachAtMost`)),
      now: runtime.now(),
    }
    this.chain = new Chain(layers, this.env)
  }

  /** Runs `work` and resolves to its answer, or rejects. */
  call<T>(work: (call: Call) => T | PromiseLike<T>, init: Init = NOTHING): Promise<T> {
    const call = this.make(work, false, init)
    const { gatesOnly } = this.chain
    if (gatesOnly !== null && !tied(call.init) && !this.closed) return this.direct(call, gatesOnly) as Promise<T>
    const answer = new Promised(this)
    const promise = answer.open()
    this.run(call, answer)
    return promise as Promise<T>
  }

  /** The same as a value that never throws: at once when nothing had to be waited for (a refusal), else as a promise. `await` takes both. */
  outcome<T>(work: (call: Call) => T | PromiseLike<T>, init: Init = NOTHING): Outcome<T> | Promise<Outcome<T>> {
    const call = this.make(work, false, init)
    const { gatesOnly } = this.chain
    if (gatesOnly === null || tied(call.init) || this.closed) return this.outcomeOf((answer) => this.run(call, answer))
    // A refusal by gates alone is the cheapest answer there is, and must stay so: it is what a flood gets.
    this.running++
    const held = gatesOnly.acquire(call)
    if (held.ok) return this.outcomeOf((answer) => leaf(call, gatesOnly.admitted(call, held, answer)))
    const outcome = refused(held)
    this.count(outcome)
    return outcome
  }

  /** At once, when `go` has answered before it returns. */
  private outcomeOf<T>(go: (answer: Answer) => void): Outcome<T> | Promise<Outcome<T>> {
    let now: Outcome<T> | undefined
    let later: ((outcome: Outcome<T>) => void) | undefined
    const answer = new Answer((outcome) => {
      this.count(outcome)
      if (later === undefined) now = outcome as Outcome<T>
      else later(outcome as Outcome<T>)
    })
    go(answer)
    if (now !== undefined) return now
    return new Promise((resolve) => {
      later = resolve
    })
  }

  /** The same without promises: `work(call, done)` answers by calling `done` once; `done` here gets the outcome once. */
  start(work: Next, done: Done, init: Init = NOTHING): void {
    const answer = new Answer((outcome) => {
      this.count(outcome)
      done(outcome)
    })
    this.run(this.make(work, true, init), answer)
  }

  /** @internal The same for work that counts its outcome itself, with the call in hand: an edge cancels it when its caller leaves, wherever it is. */
  enter(task: Task, init: Init): Call {
    const call = this.make(task, true, init)
    this.run(call, task)
    return call
  }

  /** `fn` under this pipeline: same arguments, same `this`. */
  wrap<This, A extends unknown[], T>(
    fn: (this: This, ...args: A) => T | PromiseLike<T>,
  ): (this: This, ...args: A) => Promise<T> {
    const { call } = this
    const self = this
    return function wrapped(this: This, ...args: A): Promise<T> {
      return call.call(self, () => fn.apply(this, args), { parameters: args }) as Promise<T>
    }
  }

  /** The same, and `fn` gets the call before its arguments: for its signal, the time that is left, `traceError`. */
  wrapCall<This, A extends unknown[], T>(
    fn: (this: This, call: Call, ...args: A) => T | PromiseLike<T>,
  ): (this: This, ...args: A) => Promise<T> {
    const { call } = this
    const self = this
    return function wrapped(this: This, ...args: A): Promise<T> {
      return call.call(self, (inner: Call) => fn.call(this, inner, ...args), { parameters: args }) as Promise<T>
    }
  }

  /** Calls `listener` for each event of this pipeline until the returned handle is disposed of. */
  on(listener: Listener): Disposable {
    return this.listeners.add(listener)
  }

  /** Swaps the layers in one step. A bad layer changes nothing; unchanged layers keep their objects, changed ones adopt their state. */
  reload(layers: readonly Layer[]): void {
    const { chain, changes } = this.chain.replaced(layers)
    this.chain = chain
    this.env.emit({ type: 'reloaded', at: this.env.now(), path: this.path, ...changes })
  }

  /** The gate or policy built in place `path` (`'inventory/breaker'`, or its last part), for steering by hand. */
  find(path: string): Built | undefined {
    return this.chain.find(path) ?? this.chain.find(`${this.path}/${path}`)
  }

  /** What is, now: JSON-safe. */
  inspect(): Snapshot {
    const now = this.env.now()
    const { counts, running, host } = this
    return {
      kind: this.kind,
      path: this.path,
      running,
      calls: { ...counts },
      refusals: this.refusals.inspect(),
      detached: host.detachments.count,
      listenerFailures: this.listeners.failures,
      layers: this.chain.inspect(now),
    }
  }

  /** The order of the layers and their settings, for people. */
  explain(): string {
    const rows = this.chain.layers.map(({ layer }, i) =>
      `  ${i + 1}. ${layer.kind} ${showOptions(layer.options)}`.trimEnd(),
    )
    return [this.path, ...rows].join('\n')
  }

  /** Ends every wait: queued and waiting callers are refused, new calls too; what runs may finish. Twice is harmless. */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.chain.close()
    this.listeners.clear()
  }

  private make(work: Run | Task, callbacks: boolean, init: Init): Call {
    const { on } = this.host.ambient
    return new Call(this.host, work, callbacks, on === null ? init : onBehalf(init, on))
  }

  /** `sink` must count the outcome: one object per call is cheaper than two. */
  private run(call: Call, sink: Sink): void {
    this.running++
    if (this.closed) return sink.settle(refused(new Rejection(this.door, 'closed', 0, 0, 0, true)))
    if (!tied(call.init)) return this.chain.first(call, sink)
    const untying = tie(call, (outcome) => sink.settle(outcome), this.door)
    if (untying !== undefined) this.chain.first(call, new Answer(untying))
  }

  /** Gates alone: the permits are settled in the caller's own reaction, with no promise of ours. */
  private direct(call: Call, admission: Admission): Promise<unknown> {
    this.running++
    const held = admission.acquire(call)
    if (!held.ok) {
      const outcome = refused(held)
      this.count(outcome)
      return new Promise((_, reject) => rejectSoon(reject, outcome))
    }
    const since = admission.start(call)
    call.begin()
    let result: unknown
    try {
      const { on } = this.host.ambient
      result = on === null ? (call.work as (call: Call) => unknown)(call) : on.run(call, call.work as Run, undefined)
      if (!isNative(result)) {
        if (isThenable(result)) result = Promise.resolve(result)
        else {
          this.settle(call, admission, held, since, true, result)
          return Promise.resolve(result)
        }
      }
    } catch (error) {
      this.settle(call, admission, held, since, false, error)
      return new Promise((_, reject) => void ready.then(() => reject(error)))
    }
    return (result as Promise<unknown>).then(
      (value) => {
        this.settle(call, admission, held, since, true, value)
        return value
      },
      (error: unknown) => {
        this.settle(call, admission, held, since, false, error)
        throw error
      },
    )
  }

  private settle(call: Call, admission: Admission, held: Permit, since: number, ok: boolean, value: unknown): void {
    const said = verdictOf(call, ok, value)
    // Asked where the rare state is looked at anyway: who traces nothing pays nothing.
    const verdict = call.end(undefined) && ok ? judgeTraced(call, answered(value, said)).verdict : said
    admission.end(call, held, since, verdict, true)
    this.running--
    this.counts.add(verdict)
  }

  /** @internal */
  countSuccess(): void {
    this.running--
    this.counts.success++
  }

  /** @internal */
  count(outcome: Outcome<unknown>): void {
    this.running--
    if (outcome.rejection === undefined) this.counts.add(outcome.verdict)
    else {
      this.counts.refused++
      const { env } = this
      this.refusals.add(outcome.rejection, env.now(), env.emit)
    }
  }

  private tell(event: FloodEvent, runtime: Runtime): void {
    this.listeners.emit(event)
    runtime.emit(event)
  }
}

function explainDoor({ reason }: Rejection): string {
  return reason === 'closed' ? 'it was closed' : 'no time is left before the deadline'
}

/** A pipeline of `layers`, outermost first, around any work. Bare pipelines have no hidden defaults: what is not listed is not there. */
export function pipeline(name: string, layers: readonly Layer[], options?: PipelineOptions): Pipeline {
  return new Pipeline(name, layers, options)
}
