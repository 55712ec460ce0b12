import { type Criticality, type Layer, overload, type Pipeline, pipeline } from 'floodwall'
import {
  Clients,
  EventLoopServer,
  exponential,
  fixed,
  lognormal,
  Server,
  type ServiceTime,
  steps,
  World,
} from 'floodwall/simulator'

// Servers of several sorts under loads of several sizes, always with the same line of floodwall before them.

/** Evenly between half and one and a half of the mean. */
function around(meanMs: number): ServiceTime {
  return { meanMs, draw: (chance) => meanMs * (0.5 + chance.uniform()) }
}

/** A sort of server: `blocking` makes it an event loop. */
export interface Sort {
  readonly service: ServiceTime
  readonly workers?: number
  readonly blocking?: number
}

export const SORTS = {
  '4 workers, 20 ms': { service: around(20), workers: 4 },
  '4 workers, 20 ms, always the same': { service: fixed(20), workers: 4 },
  '4 workers, exponential': { service: exponential(20), workers: 4 },
  '4 workers, log-normal': { service: lognormal({ median: 15, p99: 100 }), workers: 4 },
  '32 workers, 20 ms': { service: around(20), workers: 32 },
  '4 workers, 1 ms': { service: exponential(1), workers: 4 },
  '4 workers, 200 ms': { service: around(200), workers: 4 },
  'a loop that computes': { service: around(20), blocking: 1 },
  'a loop that computes half of the time': { service: around(20), blocking: 0.5 },
  'a loop that awaits mostly': { service: exponential(20), blocking: 0.1 },
} satisfies Readonly<Record<string, Sort>>

/** Calls a second. */
export function capacityOf({ service, workers = 1, blocking }: Sort): number {
  return (1000 / service.meanMs) * (blocking === undefined ? workers : 1 / blocking)
}

/** Who comes: shares of the load by class. */
export type Mix = Readonly<Partial<Record<Criticality, number>>>

export interface Scene {
  readonly world: World
  readonly guard: Pipeline
  readonly server: Server | EventLoopServer
  readonly clients: readonly (readonly [Criticality, Clients])[]
}

/** Refusals are free. The load is given by times of the capacity, from when on in milliseconds. */
export function scene(
  sort: Sort,
  seed: number,
  loads: readonly { readonly from: number; readonly load: number }[],
  { mix = { critical: 1 }, layers = [overload()] }: { mix?: Mix; layers?: readonly Layer[] } = {},
): Scene {
  const world = new World({ seed })
  const guard = pipeline('api', layers, { runtime: world })
  const { service, workers = 1, blocking } = sort
  const common = { service, guard, refusal: 0 }
  const server =
    blocking === undefined
      ? new Server(world, 'api', { ...common, workers })
      : new EventLoopServer(world, 'api', { ...common, blocking })
  const clients = Object.entries(mix).map(([criticality, share]) => {
    const arrivals = steps(loads.map(({ from, load }) => ({ from, rate: capacityOf(sort) * load * share })))
    return [
      criticality as Criticality,
      new Clients(world, criticality, { to: server, arrivals, criticality: criticality as Criticality }),
    ] as const
  })
  return { world, guard, server, clients }
}
