// Servers of several sorts. Refusals are free here: what they cost is for the loopback part.

const around = (meanMs) => ({ meanMs, draw: (chance) => meanMs * (0.5 + chance.uniform()) })

/** By name: the service time, and workers or the blocking share of an event loop. `of` are the distributions of the simulator. */
export const worlds = {
  '4 x 20 ms': () => ({ service: around(20), workers: 4 }),
  '4 x 20 ms fixed': ({ fixed }) => ({ service: fixed(20), workers: 4 }),
  '4 x 20 ms exponential': ({ exponential }) => ({ service: exponential(20), workers: 4 }),
  '4 x log-normal': ({ lognormal }) => ({ service: lognormal({ median: 15, p99: 100 }), workers: 4 }),
  '1 x 20 ms': () => ({ service: around(20), workers: 1 }),
  '1 x 20 ms fixed': ({ fixed }) => ({ service: fixed(20), workers: 1 }),
  '1 x 20 ms exponential': ({ exponential }) => ({ service: exponential(20), workers: 1 }),
  '32 x 20 ms': () => ({ service: around(20), workers: 32 }),
  '32 x 20 ms exponential': ({ exponential }) => ({ service: exponential(20), workers: 32 }),
  '4 x 1 ms': ({ exponential }) => ({ service: exponential(1), workers: 4 }),
  '4 x 200 ms': () => ({ service: around(200), workers: 4 }),
  'loop, blocking 1': () => ({ service: around(20), blocking: 1 }),
  'loop, blocking 0.5': () => ({ service: around(20), blocking: 0.5 }),
  'loop, blocking 0.1': ({ exponential }) => ({ service: exponential(20), blocking: 0.1 }),
}

/** Nobody waits longer than so many service times: a second for 20 ms. */
const PATIENCE = 50

/** Calls a millisecond. */
const capacityOf = ({ service, workers = 1, blocking }) =>
  (blocking === undefined ? workers : 1 / blocking) / service.meanMs

/** A server with `layers` before it, and callers of each class by their share, with the load changing over time. */
export async function furnish(library, name, { seed, layers, loads, mix = { critical: 1 } }) {
  const simulator = await library.part('simulator')
  const { World, Server, EventLoopServer, Clients, steps } = simulator
  const sort = worlds[name](simulator)
  const { blocking, ...rest } = sort
  const world = new World({ seed })
  const guard = library.pipeline('guard', layers, { runtime: world })
  const common = { service: rest.service, guard, refusal: 0 }
  const server =
    blocking === undefined
      ? new Server(world, 'server', { ...common, workers: rest.workers })
      : new EventLoopServer(world, 'server', { ...common, blocking })
  const perMs = capacityOf(sort)
  const clients = Object.entries(mix).map(([criticality, share]) => {
    const arrivals = steps(loads.map(({ from, load }) => ({ from, rate: perMs * 1000 * load * share })))
    return new Clients(world, criticality, {
      to: server,
      arrivals,
      criticality,
      patience: PATIENCE * sort.service.meanMs,
    })
  })
  return { world, guard, server, clients, perMs }
}
