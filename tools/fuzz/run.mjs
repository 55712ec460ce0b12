// The fuzzing itself: cases one after the other, some at a time, against what listens on a port.
import { caseOf } from './cases.mjs'
import { play } from './client.mjs'
import { Ledger } from './ledger.mjs'
import { startUpstream } from './upstream.mjs'

const AT_ONCE = 24
/** Longer than anything that the gateway allows itself. */
const PATIENCE_MS = 15_000

/**
 * What is fuzzed, listening.
 *
 * @typedef {object} Target
 * @property {number} port
 * @property {() => Promise<void>} stop
 * @property {() => boolean} [alive]
 * @property {(ledger: Ledger) => Promise<void>} [settled] finds what is still held when no client is there
 */

/**
 * Hears of all that is said, for who looks at one case.
 *
 * @typedef {object} Witness
 * @property {(request: import('./strict.mjs').Request) => void} upstream
 * @property {(reason: string, text: string) => void} malformed
 * @property {(heard: import('./client.mjs').Heard) => void} client
 */

/**
 * @typedef {object} Options
 * @property {number} seed
 * @property {(ledger: Ledger) => boolean} enough asked before each case
 * @property {(upstreamPort: number) => Promise<Target>} target starts what is fuzzed
 * @property {number | undefined} [only] this case, and no other
 * @property {number} [patienceMs] an answer that is due may take so long; default 15 s
 * @property {Ledger} [ledger]
 * @property {Witness | undefined} [witness]
 * @property {{ after: number, look: () => Promise<void> } | undefined} [rest] pauses after so many cases and after the
 *   last, in which nothing is connected to what is fuzzed, so that one can look at what it holds
 */

/**
 * Runs cases until there are enough.
 *
 * @param {Options} options
 * @returns {Promise<Ledger>}
 */
export async function fuzz(options) {
  const { seed, enough, target, only, patienceMs = PATIENCE_MS, ledger = new Ledger(seed), witness, rest } = options
  const upstream = await startUpstream({
    onRequest(request) {
      witness?.upstream(request)
      ledger.seen(request)
    },
    onWrong(reason, text) {
      witness?.malformed(reason, text)
      ledger.wrong(reason, text)
    },
  })
  let number = only ?? 0
  try {
    const fuzzed = await target(upstream.port)
    const over = () => enough(ledger) || fuzzed.alive?.() === false
    /** @param {number} end */
    const cases = async (end) => {
      while (number < end && !over()) {
        const one = caseOf(seed, number++)
        const expected = ledger.open(one)
        const heard = await play(fuzzed.port, one, expected, patienceMs)
        witness?.client(heard)
        ledger.heard(one, expected, heard)
      }
    }
    /** @param {number} end */
    const upTo = async (end) => {
      await Promise.all(Array.from({ length: AT_ONCE }, () => cases(end)))
      await fuzzed.settled?.(ledger)
      upstream.hangUp()
      if (fuzzed.alive?.() !== false) await rest?.look()
    }
    try {
      if (only !== undefined) await upTo(only + 1)
      else {
        if (rest !== undefined) await upTo(rest.after)
        if (rest === undefined || !over()) await upTo(Number.POSITIVE_INFINITY)
      }
    } finally {
      await fuzzed.stop()
    }
  } finally {
    await upstream.close()
  }
  return ledger
}
