// Who stands between the calls and the target. A contender is made for one seed and has
//   begin(now)                 a handle, or undefined when the call is refused
//   end(handle, verdict, now)  how it ended
// Imports are lazy: listing the rows must need no build.
import { PlainFormula } from './plain-formula.mjs'
import { replica } from './replica.mjs'

const ROUND_TRIP_MS = 20

async function floodwall({ Throttle, VirtualRuntime }) {
  return (seed) => {
    const gate = new Throttle({}, new VirtualRuntime({ seed }).env('bench'))
    const ask = { now: 0, deadline: Infinity, criticality: 'critical', cost: 1, key: '' }
    return {
      begin(now) {
        ask.now = now
        const answer = gate.tryAcquire(ask)
        return answer.ok ? answer : undefined
      },
      end: (permit, verdict, now) => permit.settle(verdict, ROUND_TRIP_MS, now),
    }
  }
}

async function kratos({ seeded }) {
  const { AegisSreBreaker } = await replica('aegis/sre-breaker.ts')
  return (seed) => {
    const breaker = new AegisSreBreaker({}, seeded(seed * 7919))
    return {
      begin(now) {
        if (breaker.allow(now * 1e6).allowed) return true
        // As its client middleware does with what it refused itself.
        breaker.markFailed(now * 1e6)
      },
      end(_, verdict, now) {
        if (verdict === 'success') breaker.markSuccess(now * 1e6)
        else breaker.markFailed(now * 1e6)
      },
    }
  }
}

async function goZero({ seeded }) {
  const { GoZeroBreaker } = await replica('gozero/google-breaker.ts')
  return (seed) => {
    const breaker = new GoZeroBreaker(seeded(seed * 7919))
    return {
      begin: (now) => (breaker.allow(now).allowed ? true : undefined),
      end(_, verdict, now) {
        if (verdict === 'success') breaker.markSuccess(now)
        else breaker.markFailure(now)
      },
    }
  }
}

const formula =
  (overMs) =>
  async ({ seeded }) =>
  (seed) => {
    const plain = new PlainFormula({ k: 2, overMs }, seeded(seed * 7919))
    return {
      begin: (now) => (plain.allow(now) ? true : undefined),
      end(_, verdict, now) {
        if (verdict === 'success') plain.markSuccess(now)
      },
    }
  }

/** @type {Record<string, (library: any) => Promise<(seed: number) => any>>} */
export const contenders = {
  floodwall,
  kratos,
  'go-zero': goZero,
  'formula, 3 s': formula(3000),
  'formula, 2 min': formula(120_000),
}
