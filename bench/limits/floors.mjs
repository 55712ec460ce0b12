// How little it can cost: a GCRA in one number for each key, no refusal, no bound; without a permit, and with one that ends as those of gates do.
import { drive } from './ours.mjs'

const UNIT_MS = 0.001
const AHEAD_MS = 1000
const STEP_MS = 0.01

/** Two times in one place: as variables of a closure each new number would be an object. */
const NOW = 0
const PAID_AT = 1

/** A Map from the key to its place in a Float64Array. */
export const map = {
  name: 'floor: GCRA, Map and Float64Array',
  shape: 'sync',
  make(_library, count) {
    const places = new Map()
    const times = new Float64Array(count + PAID_AT)
    return (key) => {
      let place = places.get(key)
      if (place === undefined) places.set(key, (place = places.size + PAID_AT))
      return take(times, place)
    }
  },
}

const permitOf = async (library) => (await library('core/gate.js')).Permit
const noEnd = { kind: 'floor', path: 'floor', settled() {}, cancelled() {} }

/** The same, as a gate. */
export const mapPermit = {
  name: 'floor: the same, with a permit',
  shape: 'sync',
  async make(library, count) {
    const Permit = await permitOf(library)
    const takes = map.make(library, count)
    const gate = { ...noEnd, tryAcquire: ({ key }) => (takes(key) ? new Permit(gate, 0, 1) : undefined) }
    return drive(gate)
  },
}

/** A gate that always says yes. */
export const permit = {
  name: 'floor: a permit and its end',
  shape: 'sync',
  async make(library) {
    const Permit = await permitOf(library)
    const gate = { ...noEnd, tryAcquire: () => new Permit(gate, 0, 1) }
    return drive(gate)
  },
}

export const one = {
  name: 'floor: GCRA',
  shape: 'sync',
  make() {
    const times = new Float64Array(2)
    return () => take(times, PAID_AT)
  },
}

function take(times, place) {
  const now = (times[NOW] += STEP_MS)
  const from = times[place] < now ? now : times[place]
  if (from + UNIT_MS - now > AHEAD_MS) return false
  times[place] = from + UNIT_MS
  return true
}

/** What others pay for each call before they decide anything. */
export const clock = { name: 'floor: Date.now', shape: 'sync', make: () => () => Date.now() }
