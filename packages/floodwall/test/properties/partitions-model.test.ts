import fc from 'fast-check'
import { Partitions, type Permit, Semaphore } from 'floodwall'
import { describe, test } from 'vitest'
import { ask, VERDICTS } from '../support/asks.ts'

// Partitions against a model that writes down everything and works out each answer anew.

const NAMES = ['a', 'b', 'c', 'stranger'] as const
/** In tenths of the span a window forgets: the model must forget at the same instants. */
const KEEP_MS = 100

interface Wish {
  readonly at: number
  readonly size: number
}

class Told {
  readonly used = new Map<string, number>(NAMES.map((name) => [name, 0]))
  private readonly wishes = new Map<string, Wish[]>(NAMES.map((name) => [name, []]))
  private readonly since = new Map<string, number>(NAMES.map((name) => [name, 0]))
  private readonly own: Readonly<Record<string, number>>
  private readonly limit: number

  constructor(own: Readonly<Record<string, number>>, limit: number) {
    this.own = own
    this.limit = limit
  }

  get total(): number {
    return [...this.used.values()].reduce((sum, n) => sum + n, 0)
  }

  ask(name: string, now: number): boolean {
    const used = this.used.get(name) as number
    const free = this.limit - this.total
    let kept = 0
    for (const other of NAMES) if (other !== name) kept += this.kept(other, now)
    const admitted = free > 0 && (used < this.ownOf(name) || free > kept)
    this.since.set(name, admitted ? 0 : (this.since.get(name) as number) + 1)
    if (admitted) this.used.set(name, used + 1)
    const size = admitted ? used + 1 : used + (this.since.get(name) as number)
    this.wishes.get(name)?.push({ at: now, size })
    return admitted
  }

  end(name: string): void {
    this.used.set(name, (this.used.get(name) as number) - 1)
  }

  private ownOf(name: string): number {
    return this.own[name] ?? 0
  }

  private kept(name: string, now: number): number {
    const slot = (at: number) => Math.floor(at / (KEEP_MS / 10))
    const sizes = (this.wishes.get(name) as Wish[])
      .filter(({ at }) => slot(now) - slot(at) < 10)
      .map(({ size }) => size)
    return Math.max(0, Math.min(this.ownOf(name), Math.max(0, ...sizes)) - (this.used.get(name) as number))
  }
}

function fail(message: string): never {
  throw new Error(message)
}

describe('partitions', () => {
  test('answer as a model that writes everything down', () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom('ask', 'ask', 'ask', 'end', 'end', 'pass'), fc.nat(3), fc.nat(60)),
      {
        maxLength: 150,
        size: 'max',
      },
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), steps, (limit, list) => {
        const slots = new Semaphore({ slots: limit })
        const gate = new Partitions(slots, { shares: { a: 0.5, b: 0.25, c: 0.25 }, by: 'key', keepFor: KEEP_MS })
        const parts = gate.inspect(0)['parts'] as { name: string; own: number }[]
        const told = new Told(Object.fromEntries(parts.map(({ name, own }) => [name, own])), limit)
        const inside: [string, Permit][] = []
        let now = 1000
        for (const [act, which, ms] of list) {
          if (act === 'pass') now += ms
          else if (act === 'ask') {
            const key = NAMES[which] as string
            const answer = gate.tryAcquire(ask(now, { key }))
            if (answer.ok !== told.ask(key, now)) fail(`${key} at ${now}: ${answer.ok ? 'admitted' : answer.why}`)
            if (answer.ok) inside.push([key, answer])
          } else if (inside.length > 0) {
            const [[key, permit]] = inside.splice(ms % inside.length, 1) as [[string, Permit]]
            if (which === 0) permit.cancel(now)
            else permit.settle(VERDICTS[which] ?? 'success', 1, now)
            permit.settle('failure', 1, now)
            told.end(key)
          }
          if (slots.available !== limit - told.total) fail(`${slots.available} of ${limit} are free`)
        }
        for (const [, permit] of inside) permit.cancel(now)
        if (slots.available !== limit || !gate.idle(now + 10 * KEEP_MS)) fail('something was left behind')
      }),
      { seed: 6, numRuns: 2000 },
    )
  })

  test('who wants its own has it once each borrowed slot has come back, whatever the others do', () => {
    const flood = fc.record({
      limit: fc.integer({ min: 2, max: 20 }),
      share: fc.constantFrom(0.1, 0.3, 0.5, 0.9),
      wants: fc.integer({ min: 1, max: 20 }),
      holds: fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 30 }),
    })
    fc.assert(
      fc.property(flood, ({ limit, share, wants, holds }) => {
        const gate = new Partitions(new Semaphore({ slots: limit }), { shares: { a: share }, by: 'key', keepFor: 1000 })
        const own = (gate.inspect(0)['parts'] as { own: number }[])[0]?.own ?? 0
        const inside: { readonly permit: Permit; readonly until: number }[] = []
        const mine: Permit[] = []
        let turns = 0
        for (let now = 0; now < 300; now++) {
          for (let i = inside.length - 1; i >= 0; i--) {
            const one = inside[i] as (typeof inside)[number]
            if (one.until > now) continue
            inside.splice(i, 1)
            one.permit.settle('success', 1, now)
          }
          // From 100 on a wants some and keeps them; the others always want all, and ask first.
          for (let i = 0; i < limit; i++) {
            const answer = gate.tryAcquire(ask(now, { key: `k${i % 3}` }))
            if (!answer.ok) continue
            inside.push({ permit: answer, until: now + (holds[turns++ % holds.length] as number) })
          }
          while (now >= 100 && mine.length < wants) {
            const answer = gate.tryAcquire(ask(now, { key: 'a' }))
            if (!answer.ok) break
            mine.push(answer)
          }
          // The first no is at 100, and from then on none is lent; those that were out end within 50.
          if (now > 151 && mine.length < Math.min(wants, own)) fail(`${mine.length} of ${own} at ${now}`)
        }
        // And the others have all the rest.
        if (inside.length + mine.length < limit - Math.max(0, own - wants)) fail('slots lie idle')
      }),
      { seed: 7, numRuns: 500 },
    )
  })
})
