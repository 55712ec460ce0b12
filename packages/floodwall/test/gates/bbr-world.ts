import { type Ask, type Env, type Gate, type Layer, Permit, Rejection, type Snapshot, type Verdict } from 'floodwall'
import { type Arrivals, arrivalsAt, Clients, Server, type ServiceTime, World } from 'floodwall/simulator'
import { AegisBbr, type AegisBbrOptions } from '../compat/aegis-bbr/limiter.ts'
import { GoZeroShedder, type GoZeroShedderOptions } from '../compat/gozero-shedder/shedder.ts'
import { Vectors } from '../support/vectors.ts'

// The model of the recordings: four workers and one line, 5 to 15 ms each, a CPU of four cores that is told each 100 ms as an average of its busy
// share. Whoever guards it meets the same arrivals and the same work.

const WORKERS = 4
const uniform: ServiceTime = { meanMs: 10, draw: (chance) => 5 + 10 * chance.uniform() }

/** What a guard may look at. */
export interface Signals {
  /** As the recordings feed it: 0 to 1, averaged (0.3 of each new share of 100 ms). */
  readonly cpu: () => number
  /** The busy share of the last 100 ms itself. */
  readonly share: () => number
  readonly server: () => Server
}

export interface Setting {
  readonly arrivals: Arrivals
  readonly ms: number
  readonly guard: (signals: Signals) => readonly Layer[]
  readonly seed?: number
  readonly workers?: number
  readonly service?: ServiceTime
  /** Share of the CPU that somebody else takes. */
  readonly others?: number
  /** What came before is not counted. */
  readonly warmUp?: number
}

export interface Seen {
  readonly arrived: number
  readonly admitted: number
  readonly refused: number
  /** Share of the arrived that was refused. */
  readonly shed: number
  /** Answers, as a share of what it can do. */
  readonly goodput: number
  readonly p50: number
  readonly p99: number
  readonly mostInside: number
  /** What the first layer of the guard showed at the end. */
  readonly snapshot: Snapshot
}

export function seen(setting: Setting): Seen {
  const { arrivals, ms, guard, seed = 1, workers = WORKERS, service = uniform, others = 0, warmUp = 0 } = setting
  const world = new World({ seed, bucket: 100 })
  let [cpu, share, busyMs, mostInside] = [0.2, 0, 0, 0]
  const signals: Signals = { cpu: () => cpu, share: () => share, server: () => server }
  const snapshots: (() => Snapshot)[] = []
  const layers = guard(signals).map((layer) => watched(layer, snapshots))
  const server: Server = new Server(world, 'api', { workers, service, guard: layers, refusal: 0 })
  const clients = new Clients(world, 'people', { to: server, arrivals })
  for (let at = 100; at <= ms; at += 100)
    world.at(at, () => {
      const { busy } = server.report().series
      const total = busy.reduce((sum, mean) => sum + mean * 100, 0)
      share = Math.min(1, (total - busyMs) / (100 * workers) + others)
      busyMs = total
      cpu = 0.7 * cpu + 0.3 * share
    })
  for (let at = 1; at <= ms; at++) world.at(at, () => (mostInside = Math.max(mostInside, server.inside)))
  if (warmUp > 0) {
    world.run(warmUp)
    world.forget()
  }
  world.run(ms - warmUp)
  const { arrived, refused, good } = server.report()
  const { latency } = clients.report()
  return {
    ...{ arrived, refused, admitted: arrived - refused, shed: refused / arrived },
    goodput: good / ((workers * (ms - warmUp)) / service.meanMs),
    p50: latency.p50 ?? 0,
    p99: latency.p99 ?? 0,
    mostInside,
    snapshot: snapshots[0]?.() ?? { kind: 'none' },
  }
}

/** The layer itself, and a way to look at what it has made. */
function watched(layer: Layer, snapshots: (() => Snapshot)[]): Layer {
  return {
    ...layer,
    build(env, previous) {
      const built = layer.build(env, previous)
      snapshots.push(() => built.inspect?.(env.now()) ?? { kind: layer.kind })
      return built
    },
  }
}

type Recorded = readonly [op: string, tMs: number, ...unknown[]]

/** When somebody came, in a case of a recording. */
export function arrivalsOf(file: string, name: string): { readonly arrivals: Arrivals; readonly ms: number } {
  const found = new Vectors<object, Recorded>(file).cases.find((one) => one.name === name)
  if (found === undefined) throw new Error(`${file} has no case "${name}"`)
  const times = found.steps.filter(([op]) => op === 'a').map(([, tMs]) => tMs)
  return { arrivals: arrivalsAt(times), ms: 100 * Math.ceil((times.at(-1) as number) / 100) }
}

/** A replica in the place of a gate. */
abstract class Replica implements Gate {
  readonly kind = 'replica'
  readonly path: string
  readonly holds = true
  readonly timed = true

  constructor(path: string) {
    this.path = path
  }

  protected abstract allow(nowUs: number): boolean
  protected abstract end(verdict: Verdict, tookUs: number, nowUs: number): void

  tryAcquire({ now }: Ask): Permit | Rejection {
    return this.allow(micros(now)) ? new Permit(this, 0) : new Rejection(this, 'overloaded', 0, 0, 0)
  }

  settled(_permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    this.end(verdict, micros(tookMs), micros(now))
  }

  cancelled(): void {
    throw new Error('nothing stands further in')
  }

  inspect(): Snapshot {
    return { kind: this.kind }
  }
}

const micros = (ms: number): number => Math.round(ms * 1000)

class Aegis extends Replica {
  readonly limiter: AegisBbr
  private readonly cpu: () => number

  constructor(path: string, cpu: () => number, options?: AegisBbrOptions) {
    super(path)
    this.limiter = new AegisBbr(options)
    this.cpu = cpu
  }

  protected allow(nowUs: number): boolean {
    this.limiter.cpu = Math.trunc(this.cpu() * 1000)
    return this.limiter.allow(nowUs)
  }

  protected end(_verdict: Verdict, tookUs: number, nowUs: number): void {
    this.limiter.done(tookUs, nowUs)
  }

  override inspect(): Snapshot {
    return { kind: this.kind, ...this.limiter.seen }
  }
}

class GoZero extends Replica {
  private readonly shedder: GoZeroShedder
  private readonly cpu: () => number

  constructor(path: string, cpu: () => number, options?: GoZeroShedderOptions) {
    super(path)
    this.shedder = new GoZeroShedder(options)
    this.cpu = cpu
  }

  protected allow(nowUs: number): boolean {
    this.shedder.cpu = Math.trunc(this.cpu() * 1000)
    return this.shedder.allow(nowUs)
  }

  protected end(verdict: Verdict, tookUs: number, nowUs: number): void {
    if (verdict === 'success') this.shedder.pass(tookUs, nowUs)
    else this.shedder.fail()
  }
}

const lifted = (make: (env: Env) => Gate): Layer => ({ kind: 'replica', options: {}, build: (env) => make(env) })

export const aegis = ({ cpu }: Pick<Signals, 'cpu'>): readonly Layer[] => [lifted(({ path }) => new Aegis(path, cpu))]
export const goZero = ({ cpu }: Pick<Signals, 'cpu'>): readonly Layer[] => [lifted(({ path }) => new GoZero(path, cpu))]
