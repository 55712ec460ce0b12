import type { IncomingMessage, ServerResponse } from 'node:http'
import { BUSY, type Pressure, SIGNALS } from '../algorithms/admission/pressure.ts'
import { RetryShare } from '../algorithms/retry/retry-share.ts'
import type { Call } from '../core/call.ts'
import type { Reason, Snapshot } from '../core/gate.ts'
import type { Inherited, Init } from '../core/init.ts'
import type { Outcome } from '../core/outcome.ts'
import { Pipeline } from '../core/pipeline.ts'
import type { ErrorAnswer } from '../wire/error-body.ts'
import { type Inbound, readInbound } from '../wire/inbound.ts'
import { Abandoned } from './abandoned.ts'
import { ambient } from './ambient.ts'
import { Answers, closing } from './answers.ts'
import { type AnyRequest, admitted } from './call-of.ts'
import { Connections } from './connections.ts'
import { type Intake, intakeOf } from './intake.ts'
import { Questions } from './questions.ts'
import { QuotaFields } from './quota.ts'
import { RequestParameters } from './request-parameters.ts'
import { type ServerOptions, type ServerSettings, settingsOf } from './settings.ts'
import { type Signals, signalsOf } from './signals/index.ts'
import { trusting } from './trust.ts'
import { endSoftly, endsConnection, hasBody } from './unread-body.ts'
import { type Door, type Handling, Visit } from './visit.ts'

// What stands between a server's connections and its handlers?
//
// A pipeline, and what HTTP makes of it: what the caller says about its call becomes an Init, a refusal becomes an answer, a client that
// leaves becomes an abort. All frameworks of Node stand on its requests and responses, so that this is written once and adapters are thin.

/** Refusals that say "too much" or "not now"; who draws up a rate, drains, or has no time left is not helped by silence. */
const OF_LOAD: ReadonlySet<Reason> = new Set<Reason>([
  ...(['overloaded', 'full', 'queue-full', 'queue-timeout', 'throttled', 'open', 'probing', 'ramping'] as const),
  ...(['unreachable', 'recovering'] as const),
])

/** What is believed of who is not trusted: nothing. */
const STRANGER: Inbound = readInbound(() => undefined, { trusted: false, mostMs: 0, criticalPlus: false })

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The edge of a server, over one pipeline. `R`: a request in the framework's own words. */
export class ServerEdge<R = IncomingMessage> implements Door {
  readonly kind = 'server'
  readonly path: string
  readonly pipeline: Pipeline
  /** @internal */ readonly abandoned: Abandoned
  private readonly settings: ServerSettings
  private readonly questions: Questions<R>
  private readonly exempt: ReadonlySet<string>
  /** For what is exempt: no layers, but a call like any other. */
  private readonly bare: Pipeline
  private readonly connections: Connections
  private readonly retries = new RetryShare()
  private readonly ambience: Disposable | undefined
  private readonly answers: Answers
  private readonly quotas: QuotaFields
  private readonly parameters: RequestParameters
  private readonly signals: Signals
  private readonly intake: Intake | undefined
  private readonly letGo: () => void
  private running = 0
  private malformed = 0
  private toldNoRetry = 0
  private turnedAway = 0
  private drained: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  constructor(pipeline: Pipeline, options: ServerOptions<R> = {}) {
    const settings = settingsOf(options)
    this.path = pipeline.path
    this.pipeline = pipeline
    this.settings = settings
    this.questions = new Questions(options, pipeline.env)
    this.abandoned = new Abandoned(settings.abandonedAtMost, settings.leftAtMost)
    this.exempt = new Set(settings.exempt)
    this.bare = new Pipeline(`${pipeline.path}/exempt`, [], { runtime: pipeline.env })
    this.connections = new Connections(trusting(settings.trust), trusting(settings.criticalPlus))
    this.ambience = settings.ambient ? ambient(pipeline.env) : undefined
    this.answers = new Answers(settings.format)
    this.quotas = new QuotaFields(pipeline, settings.rateLimitHeaders)
    this.parameters = new RequestParameters(pipeline)
    this.signals = signalsOf(pipeline.env)
    this.letGo = this.offerSignals()
    const { connections } = options
    this.intake = connections === undefined ? undefined : intakeOf(connections, this.signals, pipeline.env)
  }

  /** Its layers may ask this process how it is. */
  private offerSignals(): () => void {
    const { signals, pipeline } = this
    const release = signals.hold()
    const shared = pipeline.env.share<Pressure[]>(SIGNALS, () => [])
    // Twice, when two edges stand before it: the first to go takes its own.
    const busy = pipeline.env.share<Pressure[]>(BUSY, () => [])
    shared.push(...signals.pressures)
    busy.push(signals.busy)
    return () => {
      release()
      busy.splice(busy.indexOf(signals.busy), 1)
      for (const signal of signals.pressures) shared.splice(shared.indexOf(signal), 1)
    }
  }

  /** @internal */
  now(): number {
    return this.pipeline.env.now()
  }

  private precise(): number {
    return this.pipeline.env.precise()
  }

  levelText(): string | undefined {
    const layer = this.pipeline.find('overload') as { levelText?(now: number): string } | undefined
    return layer?.levelText?.(this.pipeline.env.now())
  }

  unread(request: IncomingMessage, answer: ErrorAnswer): ErrorAnswer {
    // Whoever says that it closes, a goodbye as well, must not cut off what is on its way.
    const says = answer.headers['connection'] === 'close'
    const ends = endsConnection(request)
    if (ends || (says && hasBody(request))) endSoftly(request, this.pipeline.env)
    return !says && ends ? closing(answer) : answer
  }

  /** Sends a request through the pipeline; `said` is the request as the framework has it. */
  serve(request: IncomingMessage, response: ServerResponse, said: R, handling: Handling): void {
    // It left while somebody before us was busy with it.
    if (response.destroyed || request.socket.destroyed) return handling.over?.()
    const connection = this.connections.of(request)
    const { settings, signals, intake } = this
    const at = this.precise()
    const { fresh } = connection
    const unacceptedMs = intake !== undefined && fresh ? intake.waitedMs(request.socket, at) : 0
    const waitedMs = signals.queueDelay.waited(connection.since, unacceptedMs, at)
    signals.touch()
    const inbound = connection.trusted
      ? readInbound((name) => request.headers[name], {
          trusted: true,
          mostMs: settings.atMost,
          criticalPlus: connection.criticalPlus,
        })
      : STRANGER
    const own = this.initOf(inbound, waitedMs, said, request.method)
    const parameters = this.parameters.of(request)
    const init: Init = parameters === undefined ? own : { ...own, parameters }
    this.running++
    const visit = new Visit(this, request, response, connection, handling)
    if (this.exempt.size > 0 && this.exempt.has(pathOf(request))) return visit.begin(this.bare, init)
    if (this.drained !== undefined) {
      this.turnedAway++
      return visit.refuse(this.goodbye(request))
    }
    this.malformed += inbound.malformed.length
    this.retries.seen(inbound.attempt, inbound.attempts, this.pipeline.env.now())
    visit.begin(this.pipeline, init)
    if (intake !== undefined && fresh && visit.refused) intake.refused(this.precise() - at)
  }

  /** What the caller says and what the user's code says of it. Field by field: the edge does this for each request, and spreads cost more than the rest. */
  private initOf(
    { within, criticality = this.settings.criticality, cohort, standsFor }: Inbound,
    waitedMs: number,
    said: R,
    method: string | undefined,
  ): Init {
    const { questions } = this
    const init: Writable<Inherited> = {
      waitedMs,
      method: questions.route(said) ?? method ?? 'GET',
    } as Writable<Inherited>
    const key = questions.key(said)
    if (key !== undefined) init.key = key
    const cost = questions.cost(said)
    if (cost !== undefined) init.cost = cost
    if (criticality !== undefined) init.criticality = criticality
    if (cohort !== undefined) init.cohort = cohort
    if (standsFor !== 1) init.standsFor = standsFor
    const own = this.settings.within
    if (within === undefined || (own !== undefined && own < within)) {
      if (own !== undefined) init.within = own
      return init
    }
    init.within = within
    init.inherited = true
    return init
  }

  private goodbye({ httpVersionMajor }: IncomingMessage): ErrorAnswer {
    const answer = this.answers.of('closed', 0, false)
    return httpVersionMajor > 1 ? answer : closing(answer)
  }

  /** @internal */
  answerOf(outcome: Outcome<unknown>, call: Call | null, init: Init): ErrorAnswer {
    const { retriesAtMost } = this.settings
    const { rejection } = outcome
    if (rejection !== undefined && OF_LOAD.has(rejection.reason)) {
      if (this.retries.share(this.pipeline.env.now()) > retriesAtMost) {
        this.toldNoRetry++
        return this.answers.of(rejection.reason, 0, true)
      }
    }
    const answer = this.answers.ofOutcome(call, outcome)
    return rejection === undefined ? answer : this.quotas.refusing(answer, rejection, init)
  }

  /** @internal */
  tellLimits(response: ServerResponse, call: Call, status: unknown): void {
    // What is exempt has passed none.
    if (call.host === this.pipeline.host) this.quotas.tell(response, call.init, status)
  }

  /**
   * The answer to an error that a handler let go, in the format of this edge: to a refusal, to an end of time, and to what retries were given
   * up with. The layers hear of the error as if it had been thrown. Undefined for everybody else's.
   */
  answerOfError(error: unknown, request: AnyRequest): ErrorAnswer | undefined {
    const known = admitted(request)
    const answer = this.answers.ofError(known?.call ?? undefined, error)
    if (answer !== undefined && known !== undefined) known.failure = { error }
    return answer
  }

  /** The answer to an error that is nobody's to answer: 500, with nothing of what stands behind. */
  answerOfFault(): ErrorAnswer {
    return this.answers.of('internal', 0, false)
  }

  /** @internal */
  left(): void {
    this.running--
    if (this.running === 0) this.drained?.resolve()
  }

  /** What is, now: JSON-safe. */
  inspect(): Snapshot {
    const { kind, path, running, turnedAway, malformed, toldNoRetry, abandoned, pipeline } = this
    return {
      kind,
      path,
      running,
      abandoned: abandoned.running,
      lapsed: abandoned.lapsed,
      draining: this.drained !== undefined,
      turnedAway,
      malformed,
      faults: this.questions.failures,
      retryShare: this.retries.share(pipeline.env.now()),
      toldNoRetry,
      exempt: this.bare.inspect()['calls'],
      signals: this.signals.inspect(pipeline.env.precise()),
      intake: this.intake?.inspect(pipeline.env.precise()) ?? null,
      pipeline: pipeline.inspect(),
    }
  }

  /** Refuses what comes from now on, and resolves when every request that is here has been answered. The pipeline stays. Twice is harmless. */
  close(): Promise<void> {
    if (this.drained === undefined) {
      let resolve = () => {}
      const promise = new Promise<void>((done) => (resolve = done)).then(() => {
        this.ambience?.[Symbol.dispose]()
        this.intake?.close()
        this.letGo()
      })
      this.drained = { promise, resolve }
      if (this.running === 0) resolve()
    }
    return this.drained.promise
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}
