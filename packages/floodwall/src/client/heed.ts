import { comeAgainMs } from '../algorithms/admission/come-again.ts'
import { COHORTS } from '../algorithms/admission/priority.ts'
import type { Cluster } from '../algorithms/cluster/cluster.ts'
import { rankOf } from '../algorithms/queues/class-line.ts'
import type { Call } from '../core/call.ts'
import { type Refuser, Rejection, type Snapshot } from '../core/gate.ts'
import type { Endpoint } from '../core/init.ts'
import type { Layer } from '../core/layer.ts'
import { refused } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'
import { apiOf } from './api.ts'
import type { Levels } from './levels.ts'
import { Standings } from './standings.ts'

// Would it be refused anyway, wherever it is sent?
//
// Source: DAGOR (Zhou et al., SoCC 2018): the admission level of a server rides on its answers, and its callers refuse by it themselves. A
// refusal here costs a microsecond; there it costs a connection, a request that is parsed, and an answer. Who stands at one place of the line
// stands there in both, so that nobody who would have been let in is refused here.
//
// Another's word must not silence anybody: one in ten of those that are ruled out goes nevertheless, which is how a level that has risen is
// heard of; and a word fades (`levels.ts`). Of several endpoints one that would take the call comes first, and only when all would refuse it
// is it refused here.
//
// The level is 128 wherever it could go: `critical` calls are refused, but for each tenth; `criticalPlus` goes.
//
// Invariant: what some endpoint in choice would take, as far as is known, is never refused.

/** Of those that are ruled out, the share that is refused here. */
const MOST_REFUSED = 0.9
/** What each that is sent says of those that are not: the sum over all that is sent is what would have come. */
const STANDS_FOR: number = Math.round(1 / (1 - MOST_REFUSED))
const MOST_SHOWN = 20

class Heed implements Policy, Refuser {
  readonly kind = 'heed'
  readonly path: string
  private readonly env: Env
  private readonly cluster: Cluster
  private readonly levels: Levels
  private readonly standings: Standings
  private refusals = 0
  private probes = 0

  constructor(cluster: Cluster, levels: Levels, env: Env) {
    this.path = env.path
    this.env = env
    this.cluster = cluster
    this.levels = levels
    this.standings = new Standings(env)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      if (this.levels.empty) inner(call, sink)
      else this.look(call, inner, sink)
    }
  }

  private look(call: Call, inner: Step, sink: Sink): void {
    const now = this.env.now()
    const words = this.levels.of(apiOf(call), now)
    if (words === undefined) return inner(call, sink)
    const rank = rankOf(call.criticality)
    const place = rank * COHORTS + this.standings.of(call)
    const shuns = (endpoint: Endpoint) => place >= words.level(endpoint, now)
    let most = -1
    for (const { endpoint, isolated, weight } of this.cluster.members) {
      if (isolated || weight <= 0) continue
      const level = words.level(endpoint, now)
      if (place < level) {
        call.extra.shuns = shuns
        return inner(call, sink)
      }
      most = Math.max(most, level)
    }
    // None of them can be asked: that is for the cluster to say.
    if (most < 0) return inner(call, sink)
    if (this.env.random() >= MOST_REFUSED) {
      this.probes++
      // The server goes by what is offered: what is kept from it must not seem to have gone away.
      call.extra.standsFor = STANDS_FOR
      return inner(call, sink)
    }
    this.refusals++
    const retryAfterMs = comeAgainMs(rank, this.env.random())
    sink.settle(refused(new Rejection(this, 'overloaded', retryAfterMs, place, most)))
  }

  explain({ value, limit }: Rejection): string {
    return `the target is overloaded: its level is ${limit.toFixed(0)} of 512, and the call stands at ${Math.floor(value)}`
  }

  inspect(now: number): Snapshot {
    const { kind, path, refusals, probes } = this
    return { kind, path, refusals, probes, levels: this.levels.inspect(now, MOST_SHOWN) }
  }
}

/** The layer of a client that stands before its cluster. */
export function heed(cluster: Cluster, levels: Levels): Layer {
  return { kind: 'heed', options: Object.freeze({}), build: (env) => new Heed(cluster, levels, env) }
}
