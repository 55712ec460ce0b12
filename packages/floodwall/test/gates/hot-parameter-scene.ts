import { type Gate, type HotParameterOptions, hotParameter, type Layer, type Permit, type Snapshot } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { parse } from '../../src/core/schema.ts'
import { ask } from '../support/asks.ts'

/** What a limit per value shows. */
export interface Shown extends Snapshot {
  readonly values: number
  readonly evicted: number
  readonly inherited: number
  readonly shared: number
  readonly skipped: number
  readonly refused: number
  readonly hottest: readonly { readonly value: string; readonly refused: number }[]
}

export type Given = Omit<HotParameterOptions, 'parameter'> & { readonly parameter?: HotParameterOptions['parameter'] }

/** A limit per value in a world of its own, asked bare. */
export class Door {
  readonly world = new VirtualRuntime()
  gate: Gate

  constructor(options: Given) {
    this.gate = this.layer(options).build(this.world.env('shop/hot')) as Gate
  }

  private layer(options: Given): Layer {
    return hotParameter({ parameter: 0, ...options })
  }

  reload(options: Given): void {
    this.gate = this.layer(options).build(this.world.env('shop/hot'), this.gate) as Gate
  }

  /** A call with this as its first argument. */
  ask(value: unknown, cost = 1): ReturnType<Gate['tryAcquire']> {
    return this.call({ parameters: [value] }, cost)
  }

  call(init: object, cost = 1): ReturnType<Gate['tryAcquire']> {
    return this.gate.tryAcquire(ask(this.world.now(), { cost, init } as never))
  }

  /** Asks `times` times; the permits that came of it. */
  hold(value: unknown, times = 1): Permit[] {
    return Array.from({ length: times }, () => this.ask(value)).filter((answer): answer is Permit => answer.ok)
  }

  end(permits: readonly Permit[]): void {
    for (const permit of permits) permit.settle('success', 1, this.world.now())
  }

  get shown(): Shown {
    return parse(hotParameter.snapshot, this.gate.inspect(this.world.now()), 'inspect()') as Shown
  }
}
