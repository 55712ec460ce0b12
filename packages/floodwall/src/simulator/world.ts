import * as v from 'valibot'
import type { Duration } from '../core/duration.ts'
import { ConfigError } from '../core/errors.ts'
import type { FloodEvent } from '../core/event.ts'
import type { Runtime, Shared } from '../core/runtime.ts'
import { countOrZero, parse, positiveSpan, show, spanOrZero } from '../core/schema.ts'
import type { Happening } from '../testing/agenda.ts'
import { VirtualRuntime } from '../testing/virtual-runtime.ts'
import { Chance } from './chance.ts'
import { History, type Trace } from './history.ts'
import type { ServerReport } from './load.ts'
import { widthAt } from './series.ts'
import type { ClientsReport } from './tally.ts'

/** A day in which every breaker flaps would fill the memory; the count goes on. */
const MOST_EVENTS = 1000

export const worldOptions = v.strictObject({
  /** Same seed, same history. Default 1. */
  seed: v.optional(countOrZero, 1),
  /** The width of the buckets of all series; it doubles when a thousand of them do not suffice. Default 1 s. */
  bucket: v.optional(positiveSpan, '1s'),
  /** Sees every step of the history. Default: nobody. */
  trace: v.optional(v.custom<Trace>((input) => typeof input === 'function', 'a function')),
})

export type WorldOptions = v.InferInput<typeof worldOptions>

/** What a part of a world has to say. */
export interface Part {
  readonly name: string
  report(): ClientsReport | ServerReport
  /** @internal */
  forget(): void
}

/** What came of a run: plain data, safe for JSON, of a size that does not depend on its length. */
export interface Report {
  readonly seed: number
  /** Since the world began, in milliseconds of its own time. */
  readonly elapsedMs: number
  /** Counts and means are of what came after this. */
  readonly sinceMs: number
  /** The width of a bucket in each series, in milliseconds. */
  readonly bucketMs: number
  /** Every step of the run in eight hexadecimal digits: equal for equal histories. */
  readonly digest: string
  readonly steps: number
  readonly clients: Readonly<Record<string, ClientsReport>>
  readonly servers: Readonly<Record<string, ServerReport>>
  /** What layers told, the first thousand. */
  readonly events: readonly FloodEvent[]
  readonly eventsInAll: number
}

/**
 * Virtual time, chance from a seed, and what lives there. It is a runtime: `pipeline(name, layers, { runtime: world })`. Nothing happens
 * until {@link run}, which drives everything by callbacks: a layer or work that waits for promises stands still here.
 */
export class World implements Runtime {
  readonly now: () => number
  readonly precise: () => number
  readonly random: () => number
  readonly emit: (event: FloodEvent) => void
  readonly after: (ms: number, fn: () => void) => () => void
  readonly soon: (fn: () => void) => void
  readonly bind: (fn: () => void) => () => void
  readonly seed: number
  /** What the pipelines made by this world share by name. */
  readonly shared: Shared = new Map()
  /** @internal */
  readonly bucketMs: number
  /** @internal */
  readonly history: History
  private readonly runtime: VirtualRuntime
  private readonly parts = new Map<string, Part>()
  private readonly told: FloodEvent[] = []
  private toldInAll = 0
  private forgotAt = 0
  private stopped = false

  /** @throws ConfigError that names the options that are wrong */
  constructor(options: WorldOptions = {}) {
    const { seed, bucket, trace } = parse(worldOptions, options, 'world')
    this.seed = seed
    this.bucketMs = bucket
    this.history = new History(trace)
    this.runtime = new VirtualRuntime({ seed })
    const { now, precise, random, after, soon, bind } = this.runtime
    this.now = now
    this.precise = precise
    this.random = random
    this.after = after
    this.soon = soon
    this.bind = bind
    this.emit = (event) => {
      if (this.toldInAll++ < MOST_EVENTS) this.told.push(event)
    }
  }

  /** A stream of chance of its own, the same for the same seed and name. */
  chance(name: string): Chance {
    return new Chance(this.seed, name)
  }

  /** Calls `fn` at a time, counted from the beginning of the world; at once when that is over, after what happens now. */
  at(time: Duration, fn: () => void): void {
    this.runtime.agenda.add(Math.max(this.now(), parse(spanOrZero, time, 'world.at')), { happen: fn })
  }

  /** @internal `item` happens `ms` from now. */
  plan(ms: number, item: Happening): void {
    this.runtime.agenda.add(this.now() + ms, item)
  }

  /** @internal */
  planAt(at: number, item: Happening): void {
    this.runtime.agenda.add(at, item)
  }

  /** @internal Before a part is made: a name stands for one. */
  expectNew(name: string): void {
    if (!this.parts.has(name)) return
    throw new ConfigError([{ path: 'name', value: show(name), expected: 'a name that is new in this world' }])
  }

  /** @internal */
  join(part: Part): void {
    this.parts.set(part.name, part)
  }

  /** Lets `span` pass, or less when somebody calls {@link stop}; calls are left where they are, and another run goes on with them. */
  run(span: Duration): Report {
    const end = this.now() + parse(spanOrZero, span, 'world.run')
    this.stopped = false
    // Chores of before the run.
    this.runtime.advance(0)
    while (!this.stopped && this.runtime.step(end));
    if (!this.stopped) this.runtime.passTo(end)
    return this.report()
  }

  /** The run ends with what happens now. */
  stop(): void {
    this.stopped = true
  }

  /** Counts and means begin anew: what was before was the warm-up. Series, history and events go on. */
  forget(): void {
    this.forgotAt = this.now()
    for (const part of this.parts.values()) part.forget()
  }

  report(): Report {
    const reports = [...this.parts.values()].map((part) => [part.name, part.report()] as const)
    const of = <K extends ClientsReport | ServerReport>(kind: K['kind']): Record<string, K> =>
      Object.fromEntries(reports.filter((entry): entry is [string, K] => entry[1].kind === kind))
    return {
      seed: this.seed,
      elapsedMs: this.now(),
      sinceMs: this.forgotAt,
      bucketMs: widthAt(this.now(), this.bucketMs),
      digest: this.history.digest,
      steps: this.history.steps,
      clients: of<ClientsReport>('clients'),
      servers: of<ServerReport>('server'),
      events: [...this.told],
      eventsInAll: this.toldInAll,
    }
  }
}
