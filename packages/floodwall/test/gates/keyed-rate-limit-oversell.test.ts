import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ask, offered, rejected } from '../support/asks.ts'
import { Keys } from '../support/keyed-rates.ts'

interface Sender {
  readonly key: string
  readonly perSecond: number
  sent: number
  passed: number
}

/** Senders at random times, each at its own rate; what passed, at which times. */
function crowd(keys: Keys, senders: readonly Sender[], seconds: number): number[] {
  const random = seeded(17)
  const total = senders.reduce((sum, { perSecond }) => sum + perSecond, 0)
  const times: number[] = []
  const end = keys.now + seconds * 1000
  for (;;) {
    keys.world.advance((-Math.log(1 - random()) / total) * 1000)
    if (keys.now > end) return times
    let dice = random() * total
    const sender = senders.find(({ perSecond }) => (dice -= perSecond) < 0) ?? (senders[0] as Sender)
    sender.sent++
    if (keys.take(sender.key) === 0) continue
    sender.passed++
    times.push(keys.now)
  }
}

const sender = (key: string, perSecond: number): Sender => ({ key, perSecond, sent: 0, passed: 0 })
const users = (count: number, perSecond: number) =>
  Array.from({ length: count }, (_, i) => sender(`user-${i}`, perSecond))
const sum = (senders: readonly Sender[], of: 'sent' | 'passed') => senders.reduce((all, each) => all + each[of], 0)

/** The most that passed above rate · t in any span. */
function burstOf(times: readonly number[], perSecond: number): number {
  let most = 0
  let level = 0
  let last = times[0] ?? 0
  for (const at of times) {
    level = Math.max(0, level - ((at - last) * perSecond) / 1000) + 1
    last = at
    most = Math.max(most, level)
  }
  return most
}

describe('limits that add up to more than there is', () => {
  test('while there is room a key goes above its own limit', () => {
    const keys = new Keys({ rate: 2, oversell: { rate: 100 } })
    expect(keys.take('a', 90)).toBe(50)
    expect(keys.shown.whole).toMatchObject({ tokens: 50, above: 48, oversold: 0.02 })
    // What the others have left is not for it, and they have their own.
    expect([keys.take('a'), keys.take('b', 5)]).toEqual([0, 2])
  })

  test('a key whose rate is 0 has none above it', () => {
    const keys = new Keys({ rate: 10, overrides: { closed: { rate: 0 } }, oversell: { rate: 100 } })
    expect(keys.take('closed', 5)).toBe(0)
  })

  test('what all have taken is refused in the name of all', () => {
    const { gate } = new Keys({ rate: 100, oversell: { rate: 10 } })
    for (let i = 0; i < 10; i++) offered(gate, 1, 0, { key: i })
    const no = rejected(gate, 0, { key: 'new' })
    expect(no).toMatchObject({ reason: 'rate', retryAfterMs: 100, value: 0, limit: 10 })
    expect([no.gate.path, no.why]).toEqual(['api/keyedRateLimit/whole', 'of all keys together 0 of 10 are left'])
    expect(rejected(gate, 0, { key: 'new', cost: 11 }).never).toBe(true)
  })

  test('a cancel gives back to the whole, and to the key what was of its own', () => {
    const keys = new Keys({ rate: 1, oversell: { rate: 4 } })
    const permits = offered(keys.gate, 3, 0, { key: 'a' })
    expect(permits).toHaveLength(2)
    permits[1]?.cancel(0)
    expect([keys.shown.whole.tokens, keys.gate.quota(ask(0, { key: 'a' }))?.left]).toEqual([3, 0])
    permits[0]?.cancel(0)
    expect([keys.shown.whole.tokens, keys.gate.quota(ask(0, { key: 'a' }))?.left]).toEqual([4, 1])
  })

  test.each([
    ['own limits are enough to hold it', 100],
    ['own limits would let all of it through', 1000],
    ['one that has a limit of its own, far above all others', 100_000],
  ])('one sends 100x: of the calls of all others at most 0.1 %% are refused (%s)', (_, most) => {
    const keys = new Keys({ rate: 100, overrides: { bot: { rate: most } }, oversell: { rate: 1200 } })
    const [others, bot] = [users(100, 10), sender('bot', 1000)]
    const times = crowd(keys, [...others, bot], 20)
    expect(1 - sum(others, 'passed') / sum(others, 'sent')).toBeLessThanOrEqual(0.001)
    expect(burstOf(times, 1200)).toBeLessThanOrEqual(1200 + 1e-6)
    // It gets what the others leave.
    expect(bot.passed).toBeGreaterThan(most === 100 ? 90 * 20 : 150 * 20)
    expect(bot.passed).toBeLessThan(200 * 20 + 1300)
  })

  test('ten that want too much share what is left alike, and the others notice nothing', () => {
    const keys = new Keys({ rate: 1000, oversell: { rate: 1200 } })
    const [others, bots] = [users(100, 8), Array.from({ length: 10 }, (_, i) => sender(`bot-${i}`, 300))]
    crowd(keys, [...others, ...bots], 5)
    for (const each of [...others, ...bots]) each.sent = each.passed = 0
    crowd(keys, [...others, ...bots], 20)
    expect(1 - sum(others, 'passed') / sum(others, 'sent')).toBeLessThanOrEqual(0.001)
    // 40 a second each.
    for (const { passed } of bots) expect(passed / 20).toBeCloseTo(40, -1)
    const counts = bots.map(({ passed }) => passed)
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.1)
  })

  test('where all want more than there is, all get the same, and the whole gives all that it has', () => {
    const keys = new Keys({ rate: 100, oversell: { rate: 1000 } })
    const all = users(50, 60)
    const times = crowd(keys, all, 20)
    expect(times.length).toBeGreaterThan(20 * 950)
    expect(burstOf(times, 1000)).toBeLessThanOrEqual(1000 + 1e-6)
    const counts = all.map(({ passed }) => passed)
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.25)
  })

  test('a reload keeps what the whole has given', () => {
    const keys = new Keys({ rate: 100, oversell: { rate: 10 } })
    for (let i = 0; i < 7; i++) keys.take(i)
    keys.reload({ rate: 100, oversell: { rate: 20 } })
    expect(keys.shown.whole).toMatchObject({ tokens: 3, burst: 20, perSecond: 20 })
    keys.reload({ rate: 100 })
    expect(keys.shown.whole).toBeNull()
    expect(keys.take('a', 200)).toBe(100)
  })
})
