import { Throttle, type ThrottleOptions, type Verdict } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { ask } from '../support/asks.ts'

// A target behind a throttle, in closed loop: calls at random times, each answer 20 ms later, and what the throttle hears decides what is sent.

const ROUND_TRIP_MS = 20

/** What stands between the calls and the target; theirs and ours. */
export interface Contender {
  /** How to tell the end of the call, or undefined when it is refused. */
  begin(now: number): ((verdict: Verdict, now: number) => void) | undefined
}

export interface Traffic {
  readonly perSecond: number
  readonly untilMs: number
  readonly seed: number
  /** What becomes of a call that is sent at `now`. */
  readonly target: (now: number, dice: () => number) => Verdict
  readonly seen: (now: number, sent: boolean) => void
}

/** Runs it all. Answers come in the order of the calls, so there is a line of them and no timer. */
export function drive(contender: Contender, { perSecond, untilMs, seed, target, seen }: Traffic): void {
  const [gaps, dice] = [seeded(seed * 104_729), seeded(seed * 1_299_709)]
  const flying: [at: number, end: (now: number) => void][] = []
  let landed = 0
  for (let now = 0; now < untilMs; now -= (Math.log(1 - gaps()) * 1000) / perSecond) {
    for (; landed < flying.length && flying[landed]![0] <= now; landed++) flying[landed]![1](flying[landed]![0])
    const end = contender.begin(now)
    seen(now, end !== undefined)
    if (end === undefined) continue
    const verdict = target(now, dice)
    flying.push([now + ROUND_TRIP_MS, (then) => end(verdict, then)])
  }
}

/** Ours. */
export function ours(seed: number, options: ThrottleOptions = {}): Contender {
  const gate = new Throttle(options, new VirtualRuntime({ seed }).env('closed-loop'))
  return {
    begin(now) {
      const answer = gate.tryAcquire(ask(now))
      return answer.ok ? (verdict, then) => answer.settle(verdict, ROUND_TRIP_MS, then) : undefined
    },
  }
}
