import type { Backoff } from '../algorithms/retry/backoff.ts'
import { Aborts } from '../core/aborts.ts'
import { AlarmList } from '../core/alarms.ts'
import { Detachments } from '../core/detachments.ts'
import type { Criticality, Host } from '../core/init.ts'
import { verdictByDefault } from '../core/outcome.ts'
import type { Pipeline } from '../core/pipeline.ts'
import { envOf } from '../core/runtime.ts'
import type { Chance } from './chance.ts'
import { Operation } from './operation.ts'
import { Tally } from './tally.ts'
import type { Target } from './target.ts'
import { pipelineOf, type Through } from './through.ts'
import type { World } from './world.ts'

interface PopulationSettings {
  readonly to: Target
  readonly through: Through
  readonly patience?: number | undefined
  readonly retries: number
  readonly backoff: Backoff
  readonly idempotent: boolean
  readonly criticality: Criticality
}

/** What the operations of one group of clients have in common. */
export class Population {
  readonly world: World
  readonly pipeline: Pipeline
  readonly to: Target
  readonly retries: number
  readonly backoff: Backoff
  readonly tally: Tally
  /** In the history. */
  readonly part: number
  readonly init: { readonly idempotent: boolean; readonly criticality: Criticality }
  /** Of the callers on whose behalf attempts are made. */
  readonly host: Host
  /** Of those whose patience ends; null when it never does. */
  readonly alarms: AlarmList | null
  /** A stream apart: how often they try again must not shift when they come. */
  readonly waits: Chance
  /** For those who begin operations: stop. */
  stopped = false
  private operations = 0

  constructor(world: World, name: string, settings: PopulationSettings) {
    const { criticality, idempotent, patience } = settings
    const env = envOf(world, name)
    this.world = world
    this.pipeline = pipelineOf(world, name, settings.through, `${name}.through`)
    this.to = settings.to
    this.retries = settings.retries
    this.backoff = settings.backoff
    this.tally = new Tally(world.bucketMs)
    this.part = world.history.enter(name)
    this.init = { idempotent, criticality }
    this.host = {
      env,
      classify: verdictByDefault,
      criticality,
      aborts: new Aborts(),
      ambient: env.ambient,
      detachments: new Detachments(),
      now: 0,
    }
    this.alarms = patience === undefined ? null : new AlarmList(patience, env)
    this.waits = world.chance(`${name}/waits`)
  }

  /** An operation begins; `over` hears of its end. */
  begin(over: (() => void) | null): void {
    new Operation(this, this.operations++, over).begin()
  }
}
