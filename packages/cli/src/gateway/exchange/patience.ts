import {
  type Call,
  type Done,
  type Env,
  envOf,
  failed,
  type Kind,
  kindOf,
  type Layer,
  type Next,
  type Policy,
  timeout,
} from 'floodwall'
import { builtIn, type Kinds } from 'floodwall/rules'
import type { Exchange } from './exchange.ts'

// How long may a request take whose client is still sending it?
//
// Not the upstream's time: a slow upload would end as a timeout of a server that did nothing wrong, and a few of them would open its breaker.
// So in the gateway a `timeout` stands still while we wait for the client's body, and begins anew when all of it has been sent; a `deadline`,
// which can be set only once, begins when the request is complete. A server that is to take what is here and takes nothing has a time of its
// own. The client's own slowness has limits of its own (`limits.idle`, `limits.request`).
//
// The limit itself is the library's, run as it is: to arm it is to run it, with a `next` that only remembers how to end it.

/**
 * A server that takes nothing for so long is not taking, unless its `timeout` is longer. Linux tells a writer of room when a third of what it
 * buffers is free again, of 4 MiB at most: who takes 280 KB a second is seen to take something each 5 s.
 */
const INTAKE_MS = 5000

/** Whose turn it is: the client's, to send; the upstream's, to take what was sent; the upstream's, to answer what it has. */
export type Turn = 'client' | 'intake' | 'answer'

/** What runs or stands still by whose turn it is. */
interface Clock {
  turn(to: Turn): void
  sent(call: Call, now: Turn): void
}

/** Those of one exchange. */
export class Clocks {
  private running: readonly Clock[] = []
  private now: Turn = 'answer'

  /** The request of `call` goes out now: its connection is there. */
  sent(call: Call): void {
    for (const clock of this.running) clock.sent(call, this.now)
  }

  track(clock: Clock): void {
    this.running = [...this.running, clock]
    if (this.now !== 'answer') clock.turn(this.now)
  }

  untrack(clock: Clock): void {
    this.running = this.running.filter((other) => other !== clock)
  }

  turn(to: Turn): void {
    this.now = to
    for (const clock of this.running) clock.turn(to)
  }
}

export class Patient implements Policy {
  readonly kind: string
  readonly path: string
  private readonly limit: Policy
  /** While a body is handed over; the same where that is longer, or a deadline. */
  private readonly intake: Policy

  constructor(limit: Policy, intake: Policy = limit) {
    this.kind = limit.kind
    this.path = limit.path
    this.limit = limit
    this.intake = intake
  }

  run(call: Call, next: Next, done: Done): void {
    const exchange = call.data as Exchange
    if (exchange.head.bodyBytes === 0 || this.isSent(exchange)) this.limit.run(call, next, done)
    else new Running(this.limit, this.intake, call, exchange, done, false).run(next)
  }

  /**
   * The same where a connection has to be made, or waited for, before anything can be sent: that is not the server's time to answer, and has a limit of
   * its own (`limits.connect`).
   */
  runUnconnected(call: Call, next: Next, done: Done): void {
    const exchange = call.data as Exchange
    exchange.clocks ??= new Clocks()
    new Running(this.limit, this.intake, call, exchange, done, true).run(next)
  }

  /** Nothing of the request has to be waited for. */
  private isSent({ body, arriving }: Exchange): boolean {
    return this.kind === 'deadline' ? !arriving : body?.whole !== false
  }

  inspect(now: number): ReturnType<NonNullable<Policy['inspect']>> {
    const snapshot = this.limit.inspect?.(now) ?? { kind: this.kind, path: this.path }
    return this.intake === this.limit ? snapshot : { ...snapshot, timeouts: this.late + countOf(this.intake) }
  }

  /** Attempts that took too long to answer; those that took nothing are not among them. */
  get late(): number {
    return countOf(this.limit)
  }

  close(): void {
    this.limit.close?.()
  }
}

function countOf(limit: Policy): number {
  return Number(limit.inspect?.(0)['timeouts'] ?? 0)
}

/** A layer, which a route that says its own time has no use for. */
class Replaceable extends Patient {
  override run(call: Call, next: Next, done: Done): void {
    if ((call.data as Exchange).route.firstByte.replaces) next(call, done)
    else super.run(call, next, done)
  }
}

/** Ends a limit that was armed, and is not told to anybody. */
const disarmed = failed(undefined, 'ignored', false)

/** One call under a limit that is armed and disarmed. */
class Running implements Clock {
  private readonly limit: Policy
  private readonly intake: Policy
  private readonly call: Call
  private readonly exchange: Exchange
  private readonly done: Done
  /** Ends the armed limit, with the outcome. */
  private disarm: Done | null = null
  private begun = false
  private over = false
  private holding = false
  /** Nothing can be sent yet. */
  private connecting: boolean

  constructor(limit: Policy, intake: Policy, call: Call, exchange: Exchange, done: Done, connecting: boolean) {
    this.connecting = connecting
    this.limit = limit
    this.intake = intake
    this.call = call
    this.exchange = exchange
    this.done = done
  }

  /** Deadlines only shrink: a second one would be in vain. */
  private get once(): boolean {
    return this.limit.kind === 'deadline'
  }

  run(next: Next): void {
    if (this.connecting) this.arm(this.intake)
    else this.turn('answer')
    if (this.over) return
    this.begun = true
    this.exchange.clocks?.track(this)
    next(this.call, (outcome) => {
      this.over = true
      this.exchange.clocks?.untrack(this)
      if (this.disarm === null) this.done(outcome)
      else this.disarm(outcome)
    })
  }

  sent(call: Call, now: Turn): void {
    if (!this.connecting || call !== this.call) return
    this.connecting = false
    this.turn(now)
  }

  turn(to: Turn): void {
    if (this.over || this.connecting) return
    if (!this.once) this.hold()
    if (this.disarm === null && (this.once ? !this.exchange.arriving : to !== 'client')) {
      this.arm(to === 'intake' ? this.intake : this.limit)
    }
  }

  private arm(limit: Policy): void {
    const remember: Next = (_call, disarm) => {
      this.disarm = disarm
    }
    limit.run(this.call, remember, (outcome) => {
      if (this.holding) return
      // Refused without being armed: at the start that is the answer; later those further out, whose time it is, will end the call.
      if (this.disarm === null && this.begun) return
      this.over = true
      this.done(outcome)
    })
  }

  private hold(): void {
    const { disarm } = this
    if (disarm === null) return
    this.holding = true
    disarm(disarmed)
    this.holding = false
    this.disarm = null
  }
}

/** `kind`, standing still while the client sends. */
function patient(kind: Kind): Pick<Kind, 'kind' | 'options' | 'snapshot'> {
  const Limit = kind.kind === 'timeout' ? Replaceable : Patient
  return kindOf({
    kind: kind.kind,
    options: kind.options,
    snapshot: kind.snapshot,
    build: (settings, env) => {
      const limit = layerOf(kind, settings).build(env) as Policy
      return new Limit(limit, intakeOf((settings as { readonly after?: number }).after, env) ?? limit)
    },
  })
}

function layerOf(kind: Kind, settings: object): Layer {
  return (kind as (options: object) => Layer)(settings)
}

const limits: ReadonlySet<string> = new Set(['deadline', 'timeout'])

/** The kinds of layers that the gateway knows. */
export const kinds: Kinds = new Map(
  [...builtIn].map(([name, kind]) => [name, limits.has(name) ? (patient(kind) as Kind) : kind]),
)

/** A layer of the gateway, in code. */
export function layer(name: string, options: object = {}): Layer {
  return layerOf(kinds.get(name) as Kind, options)
}

/** The time of a route for each attempt, which nothing takes the place of. */
export function limitOf(afterMs: number, env: Env): Patient {
  const limit = timeout({ after: afterMs }).build(env) as Policy
  return new Patient(limit, intakeOf(afterMs, env) ?? limit)
}

/** The time to take what is here, where the time to answer is shorter. */
function intakeOf(afterMs: number | undefined, env: Env): Policy | undefined {
  return afterMs !== undefined && afterMs < INTAKE_MS
    ? (timeout({ after: INTAKE_MS }).build(envOf(env, `${env.path}/intake`)) as Policy)
    : undefined
}
