// The fuzzing itself: cases one after the other, some at a time, against what listens on a port.
import { caseOf } from './cases.mjs'
import { play } from './client.mjs'
import { Ledger } from './ledger.mjs'
import { startUpstream } from './upstream.mjs'

const AT_ONCE = 24

/**
 * Runs cases until `enough()`. `target(upstreamPort)` starts what is fuzzed: `{ port, stop() }`. `only`: just this case.
 * Resolves to the ledger.
 */
export async function fuzz({ seed, enough, target, only, progress = () => {}, atOnce = AT_ONCE }) {
  const ledger = new Ledger()
  const upstream = await startUpstream({
    onRequest: (request) => ledger.seen(request),
    onWrong: (reason, text) => ledger.wrong(reason, text),
  })
  const fuzzed = await target(upstream.port)
  try {
    let number = only ?? 0
    const worker = async () => {
      while (!enough(ledger) && (only === undefined || number === only)) {
        const one = caseOf(seed, number++)
        const expected = ledger.open(one)
        ledger.heard(one, expected, ...listened(await play(fuzzed.port, one, expected)))
        progress(ledger, fuzzed)
      }
    }
    await Promise.all(Array.from({ length: only === undefined ? atOnce : 1 }, worker))
    await fuzzed.settled?.(ledger)
  } finally {
    await fuzzed.stop()
    await upstream.close()
  }
  return ledger
}

const listened = ({ text, ...how }) => [text, how]
