// What handlers do: so much work for the CPU, the same in every server of a run, and waiting.
import { setTimeout as pause } from 'node:timers/promises'

const ROUNDS = 7
const ROUND_UNITS = 20_000

// A function of its own each, which no closure of one function would be.
const copies = await Promise.all(Array.from({ length: 8 }, (_, i) => import(`./units.mjs?${i}`)))
let turn = 0

/**
 * So many units of work that no compiler can leave out, nor put into who calls it: within a large function the same loop may be two or three times as
 * slow, and the handlers of two servers were not the same work any more. A call with eight targets stays a call.
 */
export function work(units) {
  turn = (turn + 1) & 7
  return copies[turn].spend(units)
}

/** Compiled before it counts. */
export function warmUp(perMs) {
  for (let i = 0; i < 64; i++) work(perMs / 4)
}

/**
 * Units of a millisecond of CPU. By CPU time and once for all servers: what they have to do is then the same, however busy the machine is and
 * whoever of them is measured when. The process does nothing else by then, so that its CPU time is that of its thread.
 */
export function unitsPerMs() {
  warmUp(ROUND_UNITS)
  let sum = work(ROUND_UNITS)
  const found = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    sum ^= work(ROUND_UNITS)
    const { user, system } = process.cpuUsage(before)
    return (ROUND_UNITS * 1000) / (user + system)
  })
  // Others slow it down, nobody speeds it up. The sum is asked for, or there was nothing to do.
  return sum === 0.5 ? 0 : Math.max(...found)
}

/** A place for `workers` at a time, the others in a row without end: a pool of connections, of threads, of whatever. */
function pool(workers, ms) {
  const row = []
  let free = workers
  const next = () => {
    const first = row.shift()
    if (first === undefined) free++
    else first()
  }
  return async (slower) => {
    if (free > 0) free--
    else await new Promise((resolve) => row.push(resolve))
    await pause(ms * slower)
    next()
  }
}

/**
 * By name: `make` is given the units of a millisecond, and makes a function of `slower` (1: as usual).
 * @type {Record<string, { make(perMs: number): (slower: number) => unknown, slots: number }>}
 */
export const handlers = {
  hello: { make: () => () => undefined, slots: 1 },
  // A handler that does not wait is over before the next request is seen: whatever the slots, one is taken.
  '1 ms': { make: (perMs) => (slower) => work(perMs * slower), slots: 1 },
  '5 ms': { make: (perMs) => (slower) => work(5 * perMs * slower), slots: 1 },
  '20 ms': { make: (perMs) => (slower) => work(20 * perMs * slower), slots: 1 },
  '1 ms and 20 ms of waiting': {
    make: (perMs) => async (slower) => {
      work((perMs * slower) / 2)
      await pause(20)
      work((perMs * slower) / 2)
    },
    // As many as are inside when the CPU is used up, and some more: what tuning by hand comes to.
    slots: 32,
  },
  // 50 a second, whatever the CPU does: for tests, on machines that others use.
  'pool of 4, 80 ms': { make: () => pool(4, 80), slots: 4 },
}
