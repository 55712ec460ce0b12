import { type HotCache, type HotCacheOptions, hotCache } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'

/** A load that the test ends. */
export interface Pending<V> {
  readonly key: string
  readonly signal: AbortSignal
  readonly answer: (value: V) => void
  readonly fail: (error: unknown) => void
}

/** A cache over a source in the test's hands. Every key is hot at its first call, unless the options say otherwise. */
export class Scene<V = string> {
  readonly world: VirtualRuntime
  readonly pending: Pending<V>[] = []
  readonly cache: HotCache<string, V>
  loads = 0

  constructor(
    options: Partial<HotCacheOptions<string, V>> = {},
    world: VirtualRuntime = new VirtualRuntime({ seed: 3 }),
  ) {
    this.world = world
    const load = (key: string, { signal }: { readonly signal: AbortSignal }) => {
      this.loads++
      return new Promise<V>((answer, fail) => this.pending.push({ key, signal, answer, fail }))
    }
    this.cache = hotCache<string, V>({ load, ttl: '10s', jitter: 0, atLeast: 1, share: 0.0001, ...options }, world)
  }

  /** The oldest load that was not ended yet. */
  get first(): Pending<V> {
    const [first] = this.pending
    if (first === undefined) throw new Error('no load is under way')
    return first
  }

  /** Ends the oldest load, and lets everybody hear of it. */
  async answer(value: V): Promise<void> {
    const { first } = this
    this.pending.shift()
    first.answer(value)
    await this.world.settle()
  }

  async fail(error: unknown): Promise<void> {
    const { first } = this
    this.pending.shift()
    first.fail(error)
    await this.world.settle()
  }

  /** Asks, answers the load with `value`, and so has it kept. */
  async keep(key: string, value: V): Promise<void> {
    const asked = this.cache.get(key)
    await this.answer(value)
    await asked
  }

  /** What became of asking now: `hit v`, `loading`, `error e`. */
  async ask(key: string): Promise<string> {
    let said = 'loading'
    this.cache.get(key).then(
      (value) => (said = `hit ${String(value)}`),
      (error: unknown) => (said = `error ${(error as Error).message}`),
    )
    await this.world.settle()
    return said
  }

  /** Fields of inspect(). */
  counts(...names: readonly string[]): unknown[] {
    const snapshot = this.cache.inspect()
    return names.map((name) => snapshot[name])
  }
}
