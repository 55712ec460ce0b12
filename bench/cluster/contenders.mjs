// Who spreads the calls over the endpoints. A fleet has `send(done)`, and is made of a scene:
//   world     whose time it lives in
//   begins    per endpoint, what starts a call there and hears its fate once
//   isolated, returned  hear of each endpoint that is taken out of the choice, and put back
//   up        what an active check of an endpoint finds
// Imports are lazy: listing the rows must need no build.

const floodwall = (options) => async (library, scene) => {
  const { FloodwallFleet } = await import('./fleets/floodwall.mjs')
  return new FloodwallFleet(library, scene, options)
}

/** With active checks, one each second. */
const checked = (options) => async (library, scene) => {
  const { checks } = await library.part('client')
  const fleet = await floodwall(options)(library, scene)
  checks(fleet.cluster, { kind: ({ id }) => scene.up(Number(id)), interval: '1s' }, scene.world)
  return fleet
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

/** When all are out. `soon`: the default isolation, except that it never lasts longer than a second. */
const isolation = { errorCost: {}, consecutive: 5, openFor: '1s', openAtMost: '30s', probes: 3 }
const soon = { isolation: { ...isolation, openAtMost: '1s' } }
const recovering = (minWorking, recovery = {}, rest = {}) => ({
  whenOut: 'recover',
  recovery: { minWorking, ...recovery },
  ...rest,
})

/**
 * Opossum, tuned: reacts to less and within half the time, asks again after a second as our default does, and has a
 * minimum so that one failure on a quiet endpoint opens nothing.
 */
const tuned = {
  errorThresholdPercentage: 25,
  rollingCountTimeout: 5000,
  volumeThreshold: 5,
  resetTimeout: 1000,
  timeout: false,
}

/** @type {Record<string, (library: any, scene: any, needed?: number) => Promise<any>>} */
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

  'recovery q/n': (library, scene, needed) => floodwall(recovering(needed))(library, scene),
  'recovery q/n, checked': (library, scene, needed) => checked(recovering(needed))(library, scene),
  'recovery q/n, out 1 s': (library, scene, needed) => floodwall(recovering(needed, {}, soon))(library, scene),
  'recovery q/n, out 1 s, no ramp': (library, scene, needed) =>
    floodwall(recovering(needed, { hold: '10m' }, soon))(library, scene),
  'recovery q/kn, out 1 s, k 1.5': (library, scene, needed) =>
    floodwall(recovering(needed, { form: 'q/kn', redundancy: 1.5 }, soon))(library, scene),
  panic: (library, scene, needed) => floodwall({ ...recovering(needed), whenOut: 'panic' })(library, scene),
  'panic, out 1 s': (library, scene, needed) =>
    floodwall({ ...recovering(needed, {}, soon), whenOut: 'panic' })(library, scene),
  'no recovery, out 1 s': floodwall(recovering(1, {}, soon)),

  'opossum, defaults': opossum({}),
  'opossum, tuned': opossum(tuned),
  'cockatiel, 5 in a row': cockatiel({ failures: 5, halfOpenAfter: 1000 }),
}
