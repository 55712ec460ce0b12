import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { TopK } from '../../../src/algorithms/sketches/top-k.ts'
import { ExactCounts } from '../../sketches/heavy-keeper-streams.ts'
import { Vectors } from '../../support/vectors.ts'
import { AegisTopK, type AegisTopKOptions } from './heavy-keeper.ts'

// The top-k that we ship, on the streams of the recordings. It draws other dice and lays keys elsewhere, so that numbers are not compared, but how well
// the question is answered whenever the list is asked for: which keys came most often lately, and how often? Over several layouts of the keys, against exact
// counts, and at least as well as was recorded. A recording is one layout: where it was lucky, its replica says what others would have been.

interface Config extends AegisTopKOptions {
  readonly keyPrefix: string
}
type Step =
  | readonly [op: 'add', keys: readonly number[], increments: number | readonly number[], ...rest: unknown[]]
  | readonly [op: 'list', total: number, draws: number, items: readonly (readonly [string, number, number])[]]
  | readonly [op: 'fade']

interface Item {
  readonly key: string
  readonly count: number
}

/** How good a list is. */
interface Score {
  /** Of the k that came most often, those that are in it; equal ones are equally right. */
  readonly recall: number
  /** The mean of |count / truth - 1|. */
  readonly error: number
}

type Whose = 'ours' | 'recorded' | 'replica'

const HALF_LIFE_MS = 1000
const LAYOUTS = 10
/** Of a list of five: a mean over ten layouts is off by 0.015, by chance. */
const MANY_LAYOUTS = 300
/** A place in a hundred. */
const CHANCE = 0.01
const vectors = new Vectors<Config, Step>('aegis-topk.json')

function scoreOf(found: readonly Item[], exact: ExactCounts<string>, k: number, now: number): Score {
  const best = exact.top(k, now)
  const least = (best.at(-1)?.count ?? 0) * (1 - 1e-9)
  const right = found.filter(({ key }) => exact.count(key, now) >= least).length
  const errors = found.map(({ key, count }) => Math.abs(count / exact.count(key, now) - 1))
  return { recall: best.length === 0 ? 1 : right / best.length, error: mean(errors) }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

/** Scores at each list of a case. */
function play(config: Config, steps: readonly Step[], seed: number): Record<Whose, Score>[] {
  const { k, keyPrefix, depth } = config
  // A power of two, and never more cells than theirs.
  const width = 2 ** Math.floor(Math.log2(config.width))
  const top = new TopK<string>({ k, width, depth, halfLifeMs: HALF_LIFE_MS }, seeded(seed))
  const replica = new AegisTopK(config, seeded(seed))
  const exact = new ExactCounts<string>(HALF_LIFE_MS)
  const layout = `${seed} `
  const scores: Record<Whose, Score>[] = []
  let now = 0
  for (const step of steps) {
    if (step[0] === 'fade') {
      // What they halve when they are told to fades by itself here.
      now += HALF_LIFE_MS
      replica.fade()
    } else if (step[0] === 'add') {
      for (const [i, number] of step[1].entries()) {
        const key = `${keyPrefix}${number}`
        const weight = typeof step[2] === 'number' ? step[2] : (step[2][i] as number)
        top.add(key, now, weight)
        exact.add(key, now, weight)
        replica.add(layout + key, weight)
      }
    } else {
      const list = top.list(now)
      for (const { key, count } of list) expect(count).toBeLessThanOrEqual(exact.count(key, now) * (1 + 1e-9))
      expect(top.total(now)).toBeCloseTo(exact.total(now), 6)
      const others = replica.list().map(({ key, count }) => ({ key: key.slice(layout.length), count }))
      const recorded = step[3].map(([key, count]) => ({ key, count }))
      const of = (found: readonly Item[]) => scoreOf(found, exact, k, now)
      scores.push({ ours: of(list), recorded: of(recorded), replica: of(others) })
    }
  }
  return scores
}

describe('the shipped top-k on the streams of aegis', () => {
  test.each(vectors.cases)('$name: as many of the most frequent, and counts as near, as recorded', (recorded) => {
    const layouts = recorded.name === 'tiny-table' ? MANY_LAYOUTS : LAYOUTS
    const runs = Array.from({ length: layouts }, (_, i) => play(recorded.config, recorded.steps, i + 1)).flat()
    const of = (whose: Whose, what: keyof Score) => mean(runs.map((run) => run[whose][what]))
    expect(runs.length).toBeGreaterThan(0)
    expect(of('ours', 'recall')).toBeGreaterThanOrEqual(
      Math.min(of('recorded', 'recall'), of('replica', 'recall')) - CHANCE,
    )
    // 1e-15: to divide by a power of two is exact, to multiply by its logarithm is not.
    expect(of('ours', 'error')).toBeLessThanOrEqual(Math.max(of('recorded', 'error'), of('replica', 'error')) + 1e-15)
  })
})
