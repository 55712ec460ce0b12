// Who spreads the calls over the endpoints. A fleet has `send(done)`, and is made of a scene:
//   world     whose time it lives in
//   begins    per endpoint, what starts a call there and hears its fate once
//   isolated  hears of each endpoint that is taken out of the choice
// Imports are lazy: listing the rows must need no build.

/** @param options of the cluster */
const floodwall = (options) => async (library, scene) => {
  const { FloodwallFleet } = await import('./fleets/floodwall.mjs')
  return new FloodwallFleet(library, scene, options)
}

const opossum = (options) => async (_library, scene) => {
  const { OpossumFleet } = await import('./fleets/opossum.mjs')
  return new OpossumFleet(scene, options)
}

const cockatiel = (options) => async (_library, scene) => {
  const { CockatielFleet } = await import('./fleets/cockatiel.mjs')
  return new CockatielFleet(scene, options)
}

const alone = (picker) => floodwall({ picker, isolatedAtMost: 0 })

/** For the all-out study: six of nine are needed. */
const recovering = (recovery, rest = {}) => floodwall({ recovery: { minWorking: 6, ...recovery }, ...rest })

/**
 * Opossum, tuned: reacts to less and within half the time, asks again after a second as our default does, and has a minimum
 * so that one failure on a quiet endpoint opens nothing.
 */
const TUNED = {
  errorThresholdPercentage: 25,
  rollingCountTimeout: 5000,
  volumeThreshold: 5,
  resetTimeout: 1000,
  timeout: false,
}

export const contenders = {
  'plain round robin': async (_library, scene) => {
    const { RoundRobinFleet } = await import('./fleets/round-robin.mjs')
    return new RoundRobinFleet(scene)
  },
  'round robin alone': alone('roundRobin'),
  'two choices alone': alone('powerOfChoices'),
  'least loaded alone': alone('leastLoaded'),
  'weighted alone': alone('weighted'),
  floodwall: floodwall({}),
  'opossum, defaults': opossum({}),
  'opossum, tuned': opossum(TUNED),
  'cockatiel, 5 in a row': cockatiel({ failures: 5, halfOpenAfter: 1000 }),
  'recovery q/n': recovering({}),
  'recovery q/n, no ramp': recovering({ hold: '10m' }),
  'recovery q/kn, k 1.5': recovering({ form: 'q/kn', redundancy: 1.5 }),
  'recovery q/n, looks each second': recovering({}, { isolation: { ...isolation(), openAtMost: '1s' } }),
  'isolation without recovery': recovering({ minWorking: 1 }),
  panic: floodwall({ whenOut: 'panic' }),
}

/** The default, to be varied. */
function isolation() {
  return { errorCost: {}, consecutive: 5, openFor: '1s', openAtMost: '30s', probes: 3 }
}
