import * as v from 'valibot'
import { Cluster } from '../algorithms/cluster/cluster.ts'
import { type ClusterSettings, clusterOptions, pickerOf } from '../algorithms/cluster/cluster-settings.ts'
import type { Member } from '../algorithms/cluster/member.ts'
import type { Choice, Picker } from '../algorithms/cluster/picker.ts'
import { operationOf } from '../core/attempts.ts'
import type { Call } from '../core/call.ts'
import { Chain } from '../core/chain.ts'
import type { Snapshot } from '../core/gate.ts'
import type { Endpoint } from '../core/init.ts'
import { gate, type Kind, kindOf, type Layer, snapshotOf } from '../core/layer.ts'
import { answered, failed, type Outcome, refused, withoutRetry } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import { type Env, envOf } from '../core/runtime.ts'
import { same } from '../core/same.ts'
import { Answer, stepFrom } from '../core/step.ts'

// Which endpoint gets this attempt?
//
// The cluster chooses, the endpoint's gates (its breaker, its slots) and its layers admit, and what came of it goes back to the cluster. A
// request that fails everywhere is the request's fault: it is counted against one endpoint only, and tried on two.

const endpointSchema = v.custom<Endpoint>(
  (e) => typeof e === 'object' && e !== null && typeof (e as Partial<Endpoint>).id === 'string',
  'an endpoint with an id',
)

const balanceOptions = v.strictObject({
  /** The targets, when they never change; ids must differ. */
  endpoints: v.optional(
    v.pipe(
      v.array(endpointSchema),
      v.minLength(1, 'at least one endpoint'),
      v.check((list) => new Set(list.map((e) => e.id)).size === list.length, 'endpoints with different ids'),
    ),
  ),
  /** A cluster that exists already, shared with others or fed by discovery. Then `endpoints` and the cluster's options are its own. */
  cluster: v.optional(v.instance(Cluster, 'a cluster')),
  /** Layers of each endpoint, outermost first. Default: none; isolation is the cluster's. */
  each: v.optional(v.array(v.custom<Layer>((l) => typeof l === 'object' && l !== null && 'build' in l, 'a layer')), []),
  ...clusterOptions.entries,
})

export type BalanceOptions = v.InferInput<typeof balanceOptions>
type BalanceSettings = v.InferOutput<typeof balanceOptions>

const balanceSnapshot = v.strictObject({
  ...snapshotOf('balance'),
  cluster: v.looseObject({ kind: v.literal('cluster') }),
  endpoints: v.array(v.strictObject({ id: v.string(), layers: v.array(v.looseObject({ kind: v.string() })) })),
})

/** One request is tried on so many endpoints; a third would be poisoned as well. */
const MOST_ENDPOINTS = 2

/** Members whose gates refuse (a full one, a race for a probe) are passed over so many times. */
const MOST_REFUSALS = 3

/** The ways to one member: through its gates, or by them in a panic. */
interface Seat {
  readonly normal: Chain
  readonly panic: Chain
}

const untried = (): boolean => false

/** Chooses as the settings say now: a reload may name another picker for the same members. */
class CurrentPicker implements Picker {
  now: Picker

  constructor(picker: Picker) {
    this.now = picker
  }

  get kind(): string {
    return this.now.kind
  }

  pick(choice: Choice): Member | undefined {
    return this.now.pick(choice)
  }

  changed(all: readonly Member[]): void {
    this.now.changed?.(all)
  }
}

class Balance implements Policy {
  readonly kind = 'balance'
  readonly path: string
  cluster: Cluster
  private readonly env: Env
  private each: readonly Layer[]
  /** What its own cluster was made of; undefined when it is somebody else's. */
  private own: ClusterSettings | undefined
  private readonly picker: CurrentPicker
  private seats = new Map<Member, Seat>()
  private next: Next | undefined

  constructor(settings: BalanceSettings, env: Env) {
    const { endpoints, cluster, each, ...own } = settings
    this.path = env.path
    this.env = env
    this.each = each
    this.own = cluster === undefined ? own : undefined
    this.picker = new CurrentPicker(pickerOf(own.picker))
    this.cluster = cluster ?? this.clusterOf(own)
    if (endpoints !== undefined) this.cluster.update(endpoints)
  }

  /** Other endpoints, layers or numbers: what is known of those who stay is kept. False when the cluster is, or was, somebody else's. */
  takesOver({ endpoints, cluster, each, ...own }: BalanceSettings): boolean {
    if (cluster === undefined ? this.own === undefined : cluster !== this.cluster) return false
    if (cluster === undefined && !same(own, this.own)) this.renumber(own)
    if (endpoints !== undefined) this.cluster.update(endpoints)
    this.each = each
    if (this.next !== undefined) this.join(this.next)
    return true
  }

  private clusterOf(own: ClusterSettings): Cluster {
    return new Cluster({ ...own, picker: this.picker }, this.env)
  }

  private renumber(own: ClusterSettings): void {
    const before = this.own as ClusterSettings
    this.own = own
    if (own.picker !== before.picker) this.picker.now = pickerOf(own.picker)
    if (!same(madeWith(own), madeWith(before))) return this.replace(own)
    const { cluster } = this
    Object.assign(cluster.settings, own)
    for (const { breaker, slots } of cluster.members) {
      breaker.reconfigure(own.isolation)
      slots.resize(own.maxInFlight)
    }
    // For the picker to hear of them, and for the cap.
    cluster.update(cluster.members.map(({ endpoint }) => endpoint))
  }

  /** What a cluster cannot change is said of another one: who was out stays out in it, and behind its members the layers are the same. */
  private replace(own: ClusterSettings): void {
    const { seats, cluster } = this
    const { members } = cluster
    this.seats = new Map()
    this.cluster = this.clusterOf(own)
    this.cluster.update(members.map(({ endpoint }) => endpoint))
    const known = new Map(members.map((member) => [member.endpoint.id, member]))
    for (const member of this.cluster.members) {
      const was = known.get(member.endpoint.id) as Member
      const { byResults, connectTimeouts, attempts } = was
      Object.assign(member, { byResults, connectTimeouts, attempts })
      if (was.breaker.state(this.env.now()) !== 'closed') member.breaker.restore(was.breaker.save())
      this.sit(member, seats.get(was))
    }
  }

  run(call: Call, next: Next, done: Done): void {
    if (next !== this.next) this.join(next)
    this.place(call, done, undefined)
  }

  private place(
    call: Call,
    done: Done,
    passedOver: { readonly members: Member[]; readonly refusal: Outcome<unknown> } | undefined,
  ): void {
    call.host.now = this.env.now()
    const { shuns } = call.extra
    const tried =
      call.attempt === 0 && passedOver === undefined && shuns === null
        ? untried
        : (m: Member) =>
            call.tried(m.endpoint) || passedOver?.members.includes(m) === true || shuns?.(m.endpoint) === true
    const placed = this.cluster.place(call, tried)
    if (!placed.ok) return done(passedOver?.refusal ?? refused(placed))
    const { member, panic } = placed
    if (passedOver?.members.includes(member) === true) return done(passedOver.refusal)
    call.endpoint = member.endpoint
    const seat = this.seats.get(member) ?? this.sit(member)
    const chain = panic ? seat.panic : seat.normal
    chain.first(
      call,
      new Answer((outcome) => {
        if (outcome.rejection === undefined) return done(this.heard(call, member, outcome))
        call.endpoint = null
        const members = [...(passedOver?.members ?? []), member]
        const refusal = sooner(passedOver?.refusal, outcome)
        if (members.length >= MOST_REFUSALS) done(refusal)
        else this.place(call, done, { members, refusal })
      }),
    )
  }

  /** What the cluster learns beyond what the gates have learnt, and what the layers further out are told. */
  private heard(call: Call, member: Member, inner: Outcome<unknown>): Outcome<unknown> {
    const { extra } = call
    const outcome = extra.unshielded ?? inner
    extra.unshielded = null
    member.attempts++
    if (outcome.verdict === 'success' || outcome.verdict === 'ignored') return outcome
    const judged = outcome.verdict === 'failure' ? this.blame(call, member, outcome) : outcome
    const { usable } = this.cluster
    const tried = (m: Member) => call.tried(m.endpoint)
    extra.prospects = { usable: usable.share(this.env.now()), elsewhere: usable.elsewhere(tried) }
    return judged
  }

  private blame(call: Call, member: Member, outcome: Outcome<unknown>): Outcome<unknown> {
    if (!outcome.ran) {
      const { how, why } = connectFault(outcome.error)
      this.cluster.connectFailed(member, how, why)
      return outcome
    }
    return ++operationOf(call).blamed >= MOST_ENDPOINTS ? withoutRetry(outcome) : outcome
  }

  /** The chain after us changed (a reload): the endpoints' layers keep their objects and get a new end. */
  private join(next: Next): void {
    this.next = next
    const before = this.seats
    this.seats = new Map()
    for (const [member, seat] of before) this.sit(member, seat)
  }

  private sit(member: Member, before?: Seat): Seat {
    const env: Env = { ...envOf(this.env, member.path), share: this.env.share }
    const { slots } = member
    const end = stepFrom(this.end)
    const seat: Seat = {
      normal: new Chain([gate(member), gate(slots), ...this.each], env, end, before?.normal.layers),
      panic: new Chain([gate(slots), ...this.each], env, end, before?.panic.layers),
    }
    // Members that discovery has dropped: their seats go when there are clearly too many.
    if (this.seats.size > 2 * this.cluster.members.length + 16) this.tidy()
    this.seats.set(member, seat)
    return seat
  }

  private tidy(): void {
    const current = new Set(this.cluster.members)
    for (const member of this.seats.keys()) if (!current.has(member)) this.seats.delete(member)
  }

  /** The end of each endpoint's chain. A failure that was counted against another endpoint already is hidden from this one's gates. */
  private readonly end: Next = (call, done) => {
    ;(this.next as Next)(call, (outcome) => {
      if (outcome.verdict !== 'failure' || !outcome.ran || operationOf(call).blamed === 0) return done(outcome)
      call.extra.unshielded = outcome
      done(outcome.ok ? answered(outcome.value, 'ignored') : failed(outcome.error, 'ignored'))
    })
  }

  close(): void {
    for (const { normal, panic } of this.seats.values()) {
      normal.close()
      panic.close()
    }
  }

  inspect(now: number): Snapshot {
    const endpoints = [...this.seats].map(([m, seat]) => ({
      id: m.endpoint.id,
      layers: seat.normal.inspect(now).slice(2),
    }))
    return { kind: this.kind, path: this.path, cluster: this.cluster.inspect(now), endpoints }
  }
}

/** What a cluster is made with, once and for all. */
function madeWith({ zone, slowStart, whenOut, recovery }: ClusterSettings): object {
  return { zone, slowStart, whenOut, recovery }
}

/** Nothing was sent: was the connection refused, or did it take too long? */
function connectFault(error: unknown): { how: 'refused' | 'timeout'; why: string } {
  // What fetch throws has its code inside.
  const why = codeOf(error) ?? codeOf((error as { cause?: unknown } | null | undefined)?.cause) ?? 'unknown'
  return { how: /TIMEOUT|TIMEDOUT/.test(why) ? 'timeout' : 'refused', why }
}

function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Of two refusals, the one that ends sooner: that is when asking again makes sense. */
function sooner(a: Outcome<unknown> | undefined, b: Outcome<unknown>): Outcome<unknown> {
  return a === undefined || b.retryAfterMs < a.retryAfterMs ? b : a
}

/** Spreads attempts over the endpoints of a cluster; isolates, revives and recovers them. */
export const balance: Kind<BalanceOptions, BalanceSettings> = kindOf({
  kind: 'balance',
  options: balanceOptions,
  snapshot: balanceSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Balance) || !previous.takesOver(settings)) return new Balance(settings, env)
    return previous
  },
})
