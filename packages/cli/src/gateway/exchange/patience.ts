import { type Call, type Done, failed, type Kind, kindOf, type Layer, type Next, type Policy } from 'floodwall'
import { builtIn, type Kinds } from 'floodwall/rules'
import type { Exchange } from './exchange.ts'

// How long may a request take whose client is still sending it?
//
// Not the upstream's time: a slow upload would end as a timeout of a server that did nothing wrong, and a few of them would open its breaker.
// So in the gateway a `timeout` stands still while we wait for the client's body, and begins anew when it is the upstream's turn again; a
// `deadline`, which can be set only once, begins when the request is complete. The client's own slowness has limits of its own
// (`limits.idle`, `limits.request`).
//
// The limit itself is the library's, run as it is: to arm it is to run it, with a `next` that only remembers how to end it.

/** What stands still while it is the client's turn. */
interface Clock {
  hold(): void
  go(): void
}

/** Those of one exchange. */
export class Clocks {
  private running: readonly Clock[] = []
  private clients = false

  track(clock: Clock): void {
    this.running = [...this.running, clock]
    if (this.clients) clock.hold()
  }

  untrack(clock: Clock): void {
    this.running = this.running.filter((other) => other !== clock)
  }

  /** Whose turn it is: the client's, to send; or the upstream's, to take it and to answer. */
  turn(clients: boolean): void {
    this.clients = clients
    for (const clock of this.running) {
      if (clients) clock.hold()
      else clock.go()
    }
  }
}

class Patient implements Policy {
  readonly kind: string
  readonly path: string
  private readonly limit: Policy

  constructor(limit: Policy) {
    this.kind = limit.kind
    this.path = limit.path
    this.limit = limit
  }

  run(call: Call, next: Next, done: Done): void {
    const exchange = call.data as Exchange
    if (exchange.head.bodyBytes === 0 || !exchange.incomplete) this.limit.run(call, next, done)
    else new Turn(this.limit, call, exchange, done).run(next)
  }

  inspect(now: number): ReturnType<NonNullable<Policy['inspect']>> {
    return this.limit.inspect?.(now) ?? { kind: this.kind, path: this.path }
  }

  close(): void {
    this.limit.close?.()
  }
}

/** Ends a limit that was armed, and is not told to anybody. */
const disarmed = failed(undefined, 'ignored', false)

/** One call under a limit that is armed and disarmed. */
class Turn implements Clock {
  private readonly limit: Policy
  private readonly call: Call
  private readonly exchange: Exchange
  private readonly done: Done
  /** Ends the armed limit, with the outcome. */
  private disarm: Done | null = null
  private begun = false
  private over = false
  private holding = false

  constructor(limit: Policy, call: Call, exchange: Exchange, done: Done) {
    this.limit = limit
    this.call = call
    this.exchange = exchange
    this.done = done
  }

  /** Deadlines only shrink: a second one would be in vain. */
  private get once(): boolean {
    return this.limit.kind === 'deadline'
  }

  run(next: Next): void {
    this.go()
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

  go(): void {
    if (this.over || this.disarm !== null || (this.once && this.exchange.incomplete)) return
    const arm: Next = (_call, disarm) => {
      this.disarm = disarm
    }
    this.limit.run(this.call, arm, (outcome) => {
      if (this.holding) return
      // Refused without being armed: at the start that is the answer; later those further out, whose time it is, will end the call.
      if (this.disarm === null && this.begun) return
      this.over = true
      this.done(outcome)
    })
  }

  hold(): void {
    const { disarm } = this
    if (this.over || disarm === null || this.once) return
    this.holding = true
    disarm(disarmed)
    this.holding = false
    this.disarm = null
  }
}

/** `kind`, standing still while the client sends. */
function patient(kind: Kind): Pick<Kind, 'kind' | 'options' | 'snapshot'> {
  return kindOf({
    kind: kind.kind,
    options: kind.options,
    snapshot: kind.snapshot,
    build: (settings, env) => new Patient(layerOf(kind, settings).build(env) as Policy),
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
