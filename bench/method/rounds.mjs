// Paired rounds with a quiet filter. Short rounds of the bare loop and of the wrapped loop alternate; a wrapped round
// counts only if the bare rounds before and after it were within 15 % of the fastest bare round. If they were not,
// somebody else had the core.
import { performance } from 'node:perf_hooks'
import { median } from '../lib/numbers.mjs'

const ROUND_MS = 25
const WARM_MS = 200
const QUIET = 1.15
const FEW = 5

async function nsPerOp(loop, n) {
  const start = performance.now()
  await loop(n)
  return ((performance.now() - start) * 1e6) / n
}

/**
 * How many operations fill a round, once the loop is compiled: a count that is taken from cold code makes rounds so short
 * that a collection falls into one of them and misses the next.
 */
async function calibrate(loop) {
  const warmUntil = performance.now() + WARM_MS
  for (let n = 512; performance.now() < warmUntil; n = Math.min(2 * n, 65_536)) await loop(n)
  let fastest = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) fastest = Math.min(fastest, await nsPerOp(loop, 8192))
  return Math.round((ROUND_MS * 1e6) / fastest)
}

/** Runs `rounds` pairs, and up to three times as many while less than half of them were quiet. */
export async function compare(bare, wrapped, rounds) {
  const bareCount = await calibrate(bare)
  const wrappedCount = await calibrate(wrapped)
  const before = [await nsPerOp(bare, bareCount)]
  const during = []
  let found = { quiet: [], calm: [] }
  while (during.length < rounds || (found.quiet.length < rounds / 2 && during.length < rounds * 3)) {
    during.push(await nsPerOp(wrapped, wrappedCount))
    before.push(await nsPerOp(bare, bareCount))
    found = filter(before, during)
  }
  const noisy = found.quiet.length < FEW
  const counted = noisy ? [...during].sort((a, b) => a - b).slice(0, FEW) : found.quiet
  const ns = median(counted)
  const bareNs = median(found.calm)
  return { nsPerOp: ns, bareNsPerOp: bareNs, ratio: ns / bareNs, noisy }
}

function filter(before, during) {
  const limit = Math.min(...before) * QUIET
  return {
    quiet: during.filter((_, i) => before[i] <= limit && before[i + 1] <= limit),
    calm: before.filter((ns) => ns <= limit),
  }
}
