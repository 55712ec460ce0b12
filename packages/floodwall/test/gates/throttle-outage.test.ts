import { acquireAll, Breaker, type BreakerOptions, settleAll, Throttle } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { seeded } from '../../src/testing/random.ts'
import { AegisSreBreaker } from '../compat/aegis/sre-breaker.ts'
import { GoZeroBreaker } from '../compat/gozero/google-breaker.ts'
import { ask } from '../support/asks.ts'
import { type Contender, drive, ours } from './throttle-traffic.ts'

// An outage and its end, in closed loop. The figures of bench/throttle with fewer seeds, and with bands: these must hold, there they are printed.

const WELL_MS = 5000
const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1)

interface Found {
  /** Sent while the target was down: in all, and per second from the third second on. */
  readonly doomed: number
  readonly probesPerSecond: number
  /** The share that passed from 2 to 3 s after the target healed. */
  readonly healed: number
}

function outage(contender: Contender, perSecond: number, downMs: number, seed: number): Found {
  const healsAt = WELL_MS + downMs
  let [doomed, probes, asked, passed] = [0, 0, 0, 0]
  drive(contender, {
    perSecond,
    seed,
    untilMs: healsAt + 3000,
    target: (now) => (now >= WELL_MS && now < healsAt ? 'failure' : 'success'),
    seen(now, sent) {
      if (now >= healsAt + 2000) {
        asked++
        if (sent) passed++
      } else if (sent && now >= WELL_MS && now < healsAt) {
        doomed++
        if (now >= WELL_MS + 3000) probes++
      }
    },
  })
  return { doomed, probesPerSecond: probes / Math.max(1, downMs / 1000 - 3), healed: passed / asked }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** The recorded outages: aegis 3 s at 100 calls a second, go-zero 20 s at 20. And others. */
const OUTAGES = [
  [10, 3],
  [10, 20],
  [20, 20],
  [100, 1],
  [100, 3],
  [100, 20],
  [1000, 3],
  [1000, 20],
] as const

describe('the target is gone, and comes back', () => {
  test.each(OUTAGES)('%d calls a second, down for %d s', (perSecond, seconds) => {
    const found = SEEDS.map((seed) => outage(ours(seed), perSecond, seconds * 1000, seed))
    const healed = found.map((one) => one.healed)
    expect(mean(healed)).toBeGreaterThanOrEqual(0.95)
    expect(Math.min(...healed)).toBeGreaterThanOrEqual(0.9)
    const allowed = Math.max(1, perSecond / 100)
    // The first probe of the seventeen seconds may come at their beginning.
    for (const { probesPerSecond } of found) expect(probesPerSecond).toBeLessThanOrEqual(allowed + 1 / seconds)
    // Noticed within a second, or ten calls; then probes.
    const most = Math.max(1.2 * perSecond, 10 + 0.5 * perSecond) + (allowed + 1) * seconds
    expect(mean(found.map((one) => one.doomed))).toBeLessThan(most)
  })

  test('1000 a second: the worst seed has everything back within half a second', () => {
    for (const seed of SEEDS) {
      let refused = 0
      drive(ours(seed), {
        perSecond: 1000,
        seed,
        untilMs: 30_000,
        target: (now) => (now >= 5000 && now < 25_000 ? 'timeout' : 'success'),
        seen: (now, sent) => void (now >= 25_500 && !sent && refused++),
      })
      expect(refused).toBe(0)
    }
  })
})

describe('theirs, on the same traffic', () => {
  const kratos = (seed: number): Contender => {
    const breaker = new AegisSreBreaker({}, seeded(seed * 7919))
    return {
      begin(now) {
        const ns = now * 1e6
        if (breaker.allow(ns).allowed)
          return (verdict, then) =>
            verdict === 'success' ? breaker.markSuccess(then * 1e6) : breaker.markFailed(then * 1e6)
        // As its client middleware does.
        breaker.markFailed(ns)
        return undefined
      },
    }
  }
  const goZero = (seed: number): Contender => {
    const breaker = new GoZeroBreaker(seeded(seed * 7919))
    return {
      begin(now) {
        if (!breaker.allow(now).allowed) return undefined
        return (verdict, then) => (verdict === 'success' ? breaker.markSuccess(then) : breaker.markFailure(then))
      },
    }
  }

  test.each([
    ['kratos', kratos, 0.5],
    ['go-zero', goZero, 0.5],
  ] as const)('%s is not back two seconds after an outage of 20 s at 100 a second', (_, make, most) => {
    const found = SEEDS.slice(0, 5).map(
      (seed) => [outage(make(seed), 100, 20_000, seed), outage(ours(seed), 100, 20_000, seed)] as const,
    )
    for (const [theirs, our] of found) {
      expect(theirs.healed).toBeLessThan(most)
      expect(our.healed).toBe(1)
      expect(our.doomed).toBeLessThan(theirs.doomed)
    }
  })

  test('of a target that fails half of its calls they let a fifth through, and we nearly all', () => {
    const passes = (contender: Contender) => {
      let [asked, passed] = [0, 0]
      drive(contender, {
        perSecond: 100,
        seed: 1,
        untilMs: 60_000,
        target: (_, dice) => (dice() < 0.5 ? 'failure' : 'success'),
        seen: (_, sent) => {
          asked++
          if (sent) passed++
        },
      })
      return passed / asked
    }
    expect(passes(kratos(1))).toBeLessThan(0.3)
    expect(passes(goZero(1))).toBeLessThan(0.4)
    expect(passes(ours(1))).toBeGreaterThan(0.9)
  })
})

describe('next to a breaker', () => {
  const both = (seed: number, options: BreakerOptions): Contender & { readonly breaker: Breaker } => {
    const env = new VirtualRuntime({ seed }).env('both')
    const breaker = new Breaker({ jitter: 0, ...options }, env)
    const gates = [new Throttle({}, env), breaker]
    return {
      breaker,
      begin(now) {
        const held = acquireAll(gates, ask(now))
        return held.ok ? (verdict, then) => settleAll(held, verdict, 20, then) : undefined
      },
    }
  }

  test.each([10, 100, 1000])(
    '%d calls a second: the breaker opens too, and its time is the longer one',
    (perSecond) => {
      for (const seed of SEEDS.slice(0, 5)) {
        const contender = both(seed, {})
        const found = outage(contender, perSecond, 20_000, seed)
        expect(contender.breaker.inspect(30_000)['opened']).toBeGreaterThan(0)
        expect(found.doomed).toBeLessThanOrEqual(outage(ours(seed), perSecond, 20_000, seed).doomed)
        expect(found.healed).toBeLessThan(1)
      }
    },
  )

  test.each([10, 100, 1000])(
    '%d calls a second: with a short time of its own, everything is back as soon',
    (perSecond) => {
      const found = SEEDS.slice(0, 10).map((seed) =>
        outage(both(seed, { openFor: '1s', openAtMost: '1s' }), perSecond, 20_000, seed),
      )
      for (const { healed } of found) expect(healed).toBeGreaterThan(0.9)
    },
  )
})

describe('a target that is only partly bad', () => {
  /** The share of calls that pass in a minute, or in twenty at a call each two seconds. */
  function passes(perSecond: number, failing: number, seed: number): number {
    let [asked, refused] = [0, 0]
    drive(ours(seed), {
      perSecond,
      seed,
      untilMs: perSecond < 1 ? 1_200_000 : 60_000,
      target: (_, dice) => (dice() < failing ? 'failure' : 'success'),
      seen: (_, sent) => {
        asked++
        if (!sent) refused++
      },
    })
    return 1 - refused / asked
  }

  test.each([0.5, 3, 10, 100, 1000])('%d calls a second: nothing is refused without failures', (perSecond) => {
    for (const seed of SEEDS.slice(0, 5)) expect(passes(perSecond, 0, seed)).toBe(1)
  })

  test.each([0.5, 3, 10, 100, 1000])(
    '%d calls a second: where 1 of 20 fails: one of a thousand is refused at most',
    (perSecond) => {
      for (const seed of SEEDS.slice(0, 5)) expect(passes(perSecond, 0.05, seed)).toBeGreaterThan(0.999)
    },
  )

  test.each([
    // calls a second, share that fails, share that passes: about 2 · what succeeds
    [100, 0.5, 0.92, 1],
    [1000, 0.5, 0.96, 1],
    [100, 0.6, 0.75, 0.85],
    [1000, 0.6, 0.77, 0.83],
    [1000, 0.8, 0.37, 0.43],
    [1000, 1, 0, 0.03],
  ])('%d calls a second, a share of %d fails: %d to %d pass', (perSecond, failing, least, most) => {
    const share = mean(SEEDS.slice(0, 5).map((seed) => passes(perSecond, failing, seed)))
    expect(share).toBeGreaterThanOrEqual(least)
    expect(share).toBeLessThanOrEqual(most)
  })

  test('a call each two seconds is never refused, whatever the target does', () => {
    const contender = ours(1)
    for (let now = 0; now < 600_000; now += 2000) {
      const end = contender.begin(now)
      expect(end).toBeDefined()
      end?.('failure', now + 20)
    }
  })
})

describe('a target that is overloaded', () => {
  /** Takes so many a second, and says "too much" to the others. Sent for each that is accepted, and calls refused in the last second after it was relieved. */
  function overload(perSecond: number, takes: number, seed: number): { sent: number; late: number } {
    const RELIEVED_MS = 30_000
    let [tokens, last, sent, accepted, late] = [0, 0, 0, 0, 0]
    drive(ours(seed), {
      perSecond,
      seed,
      untilMs: RELIEVED_MS + 3000,
      target(now) {
        tokens = Math.min(1 + takes / 20, tokens + ((now - last) * takes) / 1000)
        last = now
        const fits = now >= RELIEVED_MS || tokens >= 1
        if (fits) tokens--
        if (now > 5000 && now < RELIEVED_MS) {
          sent++
          if (fits) accepted++
        }
        return fits ? 'success' : 'overload'
      },
      seen: (now, passed) => void (now > RELIEVED_MS + 2000 && !passed && late++),
    })
    return { sent: sent / accepted, late }
  }

  test.each([
    [1000, 200],
    [1000, 50],
    [300, 30],
  ])(
    '%d calls a second where %d fit: two are sent for each that is accepted, and all soon after it was relieved',
    (...[perSecond, takes]) => {
      for (const seed of SEEDS.slice(0, 5)) {
        const { sent, late } = overload(perSecond, takes, seed)
        expect(sent).toBeGreaterThan(1.8)
        expect(sent).toBeLessThan(2.3)
        expect(late).toBe(0)
      }
    },
  )
})
