import * as v from 'valibot'
import type { Call } from '../core/call.ts'
import { Chain, type Place } from '../core/chain.ts'
import type { Snapshot } from '../core/gate.ts'
import type { Endpoint } from '../core/init.ts'
import { type Kind, kindOf, type Layer, snapshotOf } from '../core/layer.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import { type Env, envOf } from '../core/runtime.ts'

// Which of several targets gets this attempt?
//
// Round robin. Each endpoint has layers of its own (a breaker each: that is isolation), built on first use of the list. An endpoint whose
// layers refuse costs nothing and the next one is asked; endpoints that this operation has tried already come last.

const balanceOptions = v.strictObject({
  /** The targets; ids must differ. */
  endpoints: v.pipe(
    v.array(
      v.custom<Endpoint>((e) => typeof (e as Partial<Endpoint> | null)?.id === 'string', 'an endpoint with an id'),
    ),
    v.minLength(1, 'at least one endpoint'),
    v.check((list) => new Set(list.map((e) => e.id)).size === list.length, 'endpoints with different ids'),
  ),
  /** The layers of each endpoint, outermost first. Default: none. */
  each: v.optional(v.array(v.custom<Layer>((l) => typeof l === 'object' && l !== null && 'build' in l, 'a layer')), []),
})

export type BalanceOptions = v.InferInput<typeof balanceOptions>
type BalanceSettings = v.InferOutput<typeof balanceOptions>

const balanceSnapshot = v.strictObject({
  ...snapshotOf('balance'),
  endpoints: v.array(
    v.strictObject({ id: v.string(), attempts: v.number(), layers: v.array(v.looseObject({ kind: v.string() })) }),
  ),
})

interface Seat {
  readonly endpoint: Endpoint
  readonly layers: readonly Layer[]
  readonly env: Env
  /** Made when the rest of the chain is known, and kept as long as it stays the same. */
  chain: Chain | undefined
  /** What stood here before a reload. */
  readonly before: readonly Place[] | undefined
  attempts: number
}

export class Balance implements Policy {
  readonly kind = 'balance'
  readonly path: string
  private readonly seats: readonly Seat[]
  private next: Next | undefined
  private turn = 0

  /** An endpoint that `previous` has too goes on with what its layers have learnt. */
  constructor({ endpoints, each }: BalanceSettings, env: Env, previous?: Balance) {
    this.path = env.path
    const known = new Map(previous?.seats.map((seat) => [seat.endpoint.id, seat]))
    this.seats = endpoints.map((endpoint) => {
      const was = known.get(endpoint.id)
      return {
        endpoint,
        layers: each,
        env: { ...envOf(env, `${env.path}/${endpoint.id}`), share: env.share },
        chain: undefined,
        before: was?.chain?.layers ?? was?.before,
        attempts: was?.attempts ?? 0,
      }
    })
  }

  run(call: Call, next: Next, done: Done): void {
    if (next !== this.next) this.join(next)
    const start = this.turn
    this.turn = (start + 1) % this.seats.length
    this.ask(call, start, 0, undefined, done)
  }

  /** The chain after us changed (a reload): the endpoints' layers keep their objects and get a new end. */
  private join(next: Next): void {
    this.next = next
    for (const seat of this.seats) {
      seat.chain = new Chain(seat.layers, seat.env, (call, done) => next(call, done), seat.chain?.layers ?? seat.before)
    }
  }

  private ask(call: Call, start: number, step: number, refusal: Outcome<unknown> | undefined, done: Done): void {
    const seat = this.candidate(call, start, step)
    if (seat === undefined) return done(refusal as Outcome<unknown>)
    call.endpoint = seat.endpoint
    ;(seat.chain as Chain).first(call, (outcome) => {
      if (outcome.rejection === undefined) {
        seat.attempts++
        return done(outcome)
      }
      call.endpoint = null
      this.ask(call, start, step + 1, sooner(refusal, outcome), done)
    })
  }

  /** The seats in turn, first those that the operation has not tried. */
  private candidate(call: Call, start: number, step: number): Seat | undefined {
    const { seats } = this
    if (step >= seats.length) return undefined
    if (call.attempt === 0) return seats[(start + step) % seats.length]
    const inTurn = seats.map((_, i) => seats[(start + i) % seats.length] as Seat)
    const [fresh, tried] = [inTurn.filter((s) => !call.tried(s.endpoint)), inTurn.filter((s) => call.tried(s.endpoint))]
    return [...fresh, ...tried][step]
  }

  get waiting(): number {
    return this.seats.reduce((sum, { chain }) => sum + (chain?.waiting ?? 0), 0)
  }

  close(): void {
    for (const seat of this.seats) seat.chain?.close()
  }

  inspect(now: number): Snapshot {
    const endpoints = this.seats.map(({ endpoint, attempts, chain }) => ({
      id: endpoint.id,
      attempts,
      layers: chain?.inspect(now) ?? [],
    }))
    return { kind: this.kind, path: this.path, endpoints }
  }
}

/** Of two refusals, the one that ends sooner: that is when asking again makes sense. */
function sooner(a: Outcome<unknown> | undefined, b: Outcome<unknown>): Outcome<unknown> {
  return a === undefined || b.retryAfterMs < a.retryAfterMs ? b : a
}

/** Spreads attempts over endpoints, round robin; a retry goes to one that was not tried yet. */
export const balance: Kind<BalanceOptions, BalanceSettings> = kindOf({
  kind: 'balance',
  options: balanceOptions,
  snapshot: balanceSnapshot,
  build: (settings, env, previous) => new Balance(settings, env, previous instanceof Balance ? previous : undefined),
})
