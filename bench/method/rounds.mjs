// Paired rounds with a quiet filter. Short rounds of the bare loop and of the wrapped loop alternate; a wrapped round
// counts only if the bare rounds before and after it were within 15 % of the fastest bare round. If they were not,
// somebody else heated the caches.
//
// What is taken is the CPU time of the process, not the time on the wall: the loops never wait, so on an idle machine the
// two are the same, and on one that runs fifteen things at once the first still agrees to 5 % where the second is off by
// half. It includes the helper threads of the garbage collector, which is fair: somebody pays for them.
import { median } from '../lib/numbers.mjs'

const ROUND_MS = 25
const WARM_MS = 200
const QUIET = 1.15
const FEW = 5

function cpuNs() {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1000
}

async function nsPerOp(loop, n) {
  const start = cpuNs()
  await loop(n)
  return (cpuNs() - start) / n
}

/**
 * How many operations fill a round, once the loop is compiled: a count that is taken from cold code makes rounds so short
 * that a collection falls into one of them and misses the next.
 */
async function calibrate(loop) {
  const warmAt = cpuNs() + WARM_MS * 1e6
  for (let n = 512; cpuNs() < warmAt; n = Math.min(2 * n, 65_536)) await loop(n)
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
