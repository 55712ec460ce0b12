import fc from 'fast-check'
import { breaker, bulkhead, type Layer, queue, rateLimit, retry, timeout } from 'floodwall'
import {
  Clients,
  type ClientsOptions,
  EventLoopServer,
  exponential,
  fixed,
  lognormal,
  poisson,
  Server,
  type ServerOptions,
  type Trace,
  World,
} from 'floodwall/simulator'

// Worlds of every sort, for what must hold in all of them.

/** Everything that varies, as data. */
export interface Scene {
  readonly seed: number
  readonly loop: boolean
  readonly workers: number
  readonly queue: number | undefined
  readonly service: number
  readonly rate: number
  readonly users: boolean
  readonly patience: number | undefined
  readonly retries: number
  readonly through: readonly number[]
  readonly guard: readonly number[]
  readonly notices: boolean
  readonly calls: boolean
  readonly faults: NonNullable<ServerOptions['faults']>
}

const LAYERS: readonly (() => Layer[])[] = [
  () => [retry({ attempts: 3, budget: { ratio: 1 }, backoff: { first: 20 } })],
  () => [breaker({ atLeast: 10, openFor: 300 })],
  () => [bulkhead({ slots: 3 })],
  () => [timeout({ after: 60 })],
  () => [queue({ size: 5, atMost: 50 }), bulkhead({ slots: 2 })],
  () => [rateLimit({ rate: 40, burst: 5 })],
]

const layersOf = (which: readonly number[]): Layer[] => which.flatMap((i) => (LAYERS[i] as () => Layer[])())

const from = fc.nat(3000)
const fault = fc.oneof(
  from.map((at) => ({ from: at, well: true as const })),
  from.map((at) => ({ from: at, down: true as const })),
  fc.record({ from, slow: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ from, errors: fc.constantFrom(0.2, 1), errorsTake: fc.constantFrom(0, 5) }),
  fc.record({ from, hangs: fc.constantFrom(0.1, 1) }),
  fc.record({ from, hangs: fc.constant(0.2), blackhole: fc.constant(0.3), errors: fc.constant(0.5) }),
)

export const scenes: fc.Arbitrary<Scene> = fc.record({
  seed: fc.nat(1_000_000),
  loop: fc.boolean(),
  workers: fc.integer({ min: 1, max: 4 }),
  queue: fc.option(fc.nat(5), { nil: undefined }),
  service: fc.nat(2),
  rate: fc.constantFrom(5, 30, 100),
  users: fc.boolean(),
  patience: fc.option(fc.constantFrom(10, 50, 300), { nil: undefined }),
  retries: fc.nat(3),
  through: fc.uniqueArray(fc.nat(LAYERS.length - 1), { maxLength: 4 }),
  // No retry: a guard runs its work once.
  guard: fc.uniqueArray(fc.integer({ min: 1, max: LAYERS.length - 1 }), { maxLength: 3 }),
  notices: fc.boolean(),
  calls: fc.boolean(),
  faults: fc.array(fault, { maxLength: 4 }),
})

/** A world with a server `s`, a database `d` behind it perhaps, and clients `c`. */
export function furnish(scene: Scene, trace?: Trace): { world: World; clients: Clients } {
  const world = new World({ seed: scene.seed, ...(trace === undefined ? {} : { trace }) })
  const service = [fixed(20), exponential(20), lognormal({ median: 10, p99: 100 })][scene.service] ?? fixed(1)
  const calls = scene.calls ? { to: new Server(world, 'd', { service: fixed(5), workers: 2 }) } : undefined
  const common = {
    ...{ service, guard: layersOf(scene.guard), notices: scene.notices, faults: scene.faults },
    ...(calls === undefined ? {} : { calls }),
  }
  const to = scene.loop
    ? new EventLoopServer(world, 's', { ...common, blocking: 0.3 })
    : new Server(world, 's', {
        ...common,
        workers: scene.workers,
        ...(scene.queue === undefined ? {} : { queue: scene.queue }),
      })
  const wants: ClientsOptions = {
    ...{ to, through: layersOf(scene.through), retries: scene.retries, backoff: { first: 10 } },
    ...(scene.patience === undefined ? {} : { patience: scene.patience }),
    ...(scene.users ? { users: { count: 10, think: exponential(100) } } : { arrivals: poisson(scene.rate) }),
  }
  return { world, clients: new Clients(world, 'c', wants) }
}
