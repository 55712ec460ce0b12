import {
  answered,
  type Call,
  failed,
  type HedgeOptions,
  hedge,
  type Layer,
  type Outcome,
  type Pipeline,
  pipeline,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'

// One call through a hedge, whose attempts end as a test says.

export const error: Error = new Error('x')
export const ample = { ratio: 1, minimum: 1000 } as const

/** An attempt ends so, after so long. */
export type Ends = readonly [ms: number, outcome: Outcome<unknown>]

/** What became of the call. */
export interface Ran {
  /** When each attempt was sent. */
  readonly sent: number[]
  readonly calls: Call[]
  readonly at: number
  readonly outcome: Outcome<unknown>
  readonly world: VirtualRuntime
  readonly p: Pipeline
}

/** One call whose attempts end so, after so long; those beyond the list never end. */
export function run(attempts: readonly Ends[], layers: readonly Layer[], init: object = { idempotent: true }): Ran {
  const world = new VirtualRuntime()
  const p = pipeline('p', layers, { runtime: world })
  const seen = { sent: [] as number[], calls: [] as Call[], at: -1, outcome: undefined as Outcome<unknown> | undefined }
  p.start(
    (call, done) => {
      seen.sent.push(world.now())
      const [ms, outcome] = attempts[seen.calls.push(call) - 1] ?? [undefined, undefined]
      if (ms === 0) done(outcome as Outcome<unknown>)
      else if (ms !== undefined) world.after(ms, () => done(outcome as Outcome<unknown>))
    },
    (outcome) => {
      seen.outcome = outcome
      seen.at = world.now()
    },
    init,
  )
  world.run()
  return { ...seen, world, p, outcome: seen.outcome as Outcome<unknown> }
}

/** The next attempt after 50 ms, and no want of budget. */
export const fixed = (more: HedgeOptions = {}): Layer => hedge({ after: 50, budget: ample, ...more })
export const slow: Ends = [500, answered('slow')]
export const quick: Ends = [20, answered('quick')]
export const fails = (ms: number, verdict: 'failure' | 'timeout' | 'overload' | 'ignored' = 'failure'): Ends => [
  ms,
  failed(error, verdict),
]
