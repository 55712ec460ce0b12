import * as v from 'valibot'
import type { Criticality } from '../core/init.ts'
import type { Pipeline } from '../core/pipeline.ts'
import { count, countOrZero, factor, oneOf, parse, positiveSpan, spanOrZero } from '../core/schema.ts'
import { arrivals } from './arrivals.ts'
import { OpenFlow, User } from './flow.ts'
import { Population } from './population.ts'
import { serviceTime } from './service-time.ts'
import type { ClientsReport } from './tally.ts'
import { target } from './target.ts'
import { through } from './through.ts'

import type { Part, World } from './world.ts'

const CLASSES = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const satisfies readonly Criticality[]

/** Who does not think, asks again at the same instant when he is refused: time would stand still. */
const thinkTime = v.pipe(
  serviceTime,
  v.check(({ meanMs }) => meanMs > 0, 'a think time with a mean above 0'),
)

export const clientsOptions = v.pipe(
  v.strictObject({
    /** What they call. */
    to: target,
    /** The floodwall on the way: layers, or a pipeline that others share. Default: none. */
    through: v.optional(through, []),
    /** When they come, whatever became of those before. This or `users`. */
    arrivals: v.optional(arrivals),
    /** So many, each of whom thinks, asks, waits for the end of it, and thinks again. This or `arrivals`. */
    users: v.optional(v.strictObject({ count, think: thinkTime })),
    /** They give up an attempt after this, as when somebody closes the page. Default: never. */
    patience: v.optional(positiveSpan),
    /** After an attempt that was no success, they try again so many times by themselves, outside of all layers. Default 0. */
    retries: v.optional(countOrZero, 0),
    /** Before that they wait: full jitter below a ceiling that starts at `first`, grows by `factor` and stops at `atMost`. Default 0: at once, 2, 2 s. */
    backoff: v.optional(
      v.strictObject({
        first: v.optional(spanOrZero, 0),
        factor: v.optional(factor, 2),
        atMost: v.optional(positiveSpan, '2s'),
      }),
      {},
    ),
    /** Whether executing twice does no harm: what a retry layer asks. Default: it does none. */
    idempotent: v.optional(v.boolean('true or false'), true),
    criticality: v.optional(oneOf(...CLASSES), 'critical'),
  }),
  v.check((options) => (options.arrivals === undefined) !== (options.users === undefined), 'either arrivals or users'),
)

export type ClientsOptions = v.InferInput<typeof clientsOptions>

/** People, or programs, who want something of a target. What one of them wants is an operation; it may take several attempts. */
export class Clients implements Part {
  readonly name: string
  /** What their calls pass. */
  readonly pipeline: Pipeline
  private readonly population: Population
  private readonly clock: () => number

  /** @throws ConfigError that names the options that are wrong */
  constructor(world: World, name: string, options: ClientsOptions) {
    const { arrivals, users, ...settings } = parse(clientsOptions, options, name)
    world.expectNew(name)
    const population = new Population(world, name, settings)
    this.name = name
    this.pipeline = population.pipeline
    this.population = population
    this.clock = world.now
    world.join(this)
    const chance = world.chance(name)
    if (arrivals !== undefined) new OpenFlow(population, arrivals.begin(chance, world.now())).plan()
    for (let i = 0; users !== undefined && i < users.count; i++) new User(population, users.think, chance).think()
  }

  /** Nobody begins anything any more; what is pending goes on. */
  stop(): void {
    this.population.stopped = true
  }

  /** @internal */
  forget(): void {
    this.population.tally.forget(this.clock())
  }

  /** What they lived through so far. */
  report(): ClientsReport {
    return this.population.tally.report(this.clock())
  }
}
