import fc from 'fast-check'
import type { Criticality } from 'floodwall'
import { describe, test } from 'vitest'
import { ClassLine, RankedPlace, rankOf } from '../../src/algorithms/queues/class-line.ts'
import { Codel } from '../../src/algorithms/queues/codel.ts'
import { Expiries, type Expiring } from '../../src/algorithms/queues/expiries.ts'

// The parts of a queue against the plainest thing that does the same.

/** Half a million comparisons: those of the test runner would take a minute. */
function same(actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`expected ${String(expected)}, got ${String(actual)}`)
}

class One implements Expiring {
  dueAt: number
  spot = -1

  constructor(dueAt: number) {
    this.dueAt = dueAt
  }
}

test('expiries: as an array that is searched', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.nat(50).map((dueAt) => ({ act: 'add' as const, dueAt })) },
    { weight: 2, arbitrary: fc.nat(100).map((which) => ({ act: 'remove' as const, which })) },
    { weight: 2, arbitrary: fc.nat(60).map((now) => ({ act: 'take' as const, now })) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const expiries = new Expiries<One>()
      let naive: One[] = []
      const all: One[] = []
      for (const one of steps) {
        if (one.act === 'add') {
          const made = new One(one.dueAt)
          naive.push(made)
          all.push(made)
          expiries.add(made)
        } else if (one.act === 'remove') {
          const victim = all[one.which % Math.max(1, all.length)]
          if (victim === undefined) continue
          same(expiries.remove(victim), naive.includes(victim))
          naive = naive.filter((other) => other !== victim)
        } else {
          const first = Math.min(...naive.map(({ dueAt }) => dueAt))
          const taken = expiries.take(one.now)
          same(taken?.dueAt, first <= one.now ? first : undefined)
          naive = naive.filter((other) => other !== taken)
        }
        same(expiries.size, naive.length)
        same(expiries.nextAt, Math.min(...naive.map(({ dueAt }) => dueAt)))
      }
      for (const one of all) same(one.spot >= 0, naive.includes(one))
    }),
    { seed: 1, numRuns: 500 },
  )
})

const CLASSES: readonly Criticality[] = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable']

describe.each([
  ['fifo', false],
  ['lifo', true],
])('a line of classes, %s', (_, newestFirst) => {
  test('as an array that is searched', () => {
    const step = fc.tuple(fc.constantFrom('join', 'join', 'leave', 'go', 'return'), fc.nat(100), fc.nat(3))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
        const line = new ClassLine<RankedPlace>()
        /** In the order in which they stand, whatever their class. */
        let naive: RankedPlace[] = []
        let tickets = 0
        const of = (rank: number) => naive.filter((one) => one.rank === rank)
        const first = (least = 0): RankedPlace | undefined => {
          for (let rank = least; rank < 4; rank++) if (of(rank).length > 0) return of(rank).at(newestFirst ? -1 : 0)
          return undefined
        }
        const last = (): RankedPlace | undefined => {
          for (let rank = 3; rank >= 0; rank--) if (of(rank).length > 0) return of(rank).at(newestFirst ? 0 : -1)
          return undefined
        }
        const join = (one: RankedPlace, atFront: boolean) => {
          naive = atFront ? [one, ...naive] : [...naive, one]
        }
        for (const [act, which, rank] of steps) {
          const some = naive[which % Math.max(1, naive.length)]
          if (act === 'join') {
            const one = new RankedPlace(rankOf(CLASSES[rank] as Criticality), tickets++)
            line.push(one)
            join(one, false)
          } else if (act === 'leave' && some !== undefined) {
            same(line.remove(some), true)
            same(line.remove(some), false)
            naive = naive.filter((one) => one !== some)
          } else {
            const one = line.next(newestFirst, act === 'go' ? 0 : rank)
            same(one, first(act === 'go' ? 0 : rank))
            if (one === undefined) continue
            line.remove(one)
            naive = naive.filter((other) => other !== one)
            if (act === 'return') {
              line.back(one, newestFirst)
              join(one, !newestFirst)
            }
          }
          same(line.size, naive.length)
          same(line.next(newestFirst), first())
          same(line.last(newestFirst), last())
          same(line.waitingOf(rank), of(rank).length)
          const ahead = naive.filter((one) => one.rank < rank || (one.rank === rank && !newestFirst)).length
          same(line.before(rank, newestFirst), ahead)
        }
      }),
      { seed: 2, numRuns: 500 },
    )
  })
})

/** CoDel as it is told: every interval with all its delays in a list. */
class ToldCodel {
  private readonly targetMs: number
  private readonly intervalMs: number
  private delays: number[] | null = null
  private endsAt = 0
  private standing = false

  constructor(targetMs: number, intervalMs: number) {
    this.targetMs = targetMs
    this.intervalMs = intervalMs
  }

  judge(delayMs: number, now: number): boolean {
    if (this.delays === null || now > this.endsAt) {
      if (this.delays !== null) {
        this.standing = Math.min(...this.delays) > this.targetMs
        this.endsAt = now + this.intervalMs
      }
      this.delays = [delayMs]
      return false
    }
    this.delays.push(delayMs)
    return this.standing && delayMs > 2 * this.targetMs
  }
}

test('CoDel: as it is told, with all delays of an interval in a list', () => {
  const steps = fc.array(fc.tuple(fc.nat(40), fc.nat(30)), { maxLength: 200, size: 'max' })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 10, max: 200 }), steps, (target, interval, list) => {
      const codel = new Codel({ targetMs: target, intervalMs: interval })
      const told = new ToldCodel(target, interval)
      // Both begin with an interval that is over at 0.
      let now = 1
      for (const [gap, delayMs] of list) {
        now += gap
        same(codel.judge(delayMs, now), told.judge(delayMs, now))
      }
    }),
    { seed: 3, numRuns: 1000 },
  )
})
