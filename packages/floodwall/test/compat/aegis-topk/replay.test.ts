import { describe, expect, test } from 'vitest'
import { Vectors } from '../../support/vectors.ts'
import { lcg } from '../aegis/lcg.ts'
import { AegisTopK, type AegisTopKOptions } from './heavy-keeper.ts'

interface Config extends AegisTopKOptions {
  readonly lcgSeed: number | null
  readonly keyPrefix: string
  readonly draws?: readonly number[]
}
type Add = readonly [
  op: 'add',
  keys: readonly number[],
  increments: number | readonly number[],
  added: string,
  expelled: readonly (readonly [index: number, key: string])[],
]
type List = readonly [
  op: 'list',
  total: number,
  draws: number,
  items: readonly (readonly [key: string, count: number, truth: number])[],
]
type Step = Add | List | readonly [op: 'fade']

const vectors = new Vectors<Config, Step>('aegis-topk.json')

class Replayed {
  readonly top: AegisTopK
  adds = 0
  private readonly prefix: string
  private drawn = 0

  constructor({ lcgSeed, keyPrefix, draws, ...options }: Config) {
    const dice = lcgSeed === null ? () => draws?.[this.drawn] as number : lcg(lcgSeed)
    this.prefix = keyPrefix
    this.top = new AegisTopK(options, () => {
      const draw = dice()
      this.drawn++
      return draw
    })
  }

  play(step: Step): void {
    if (step[0] === 'fade') this.top.fade()
    else if (step[0] === 'list') this.list(step)
    else this.add(step)
  }

  private add([, keys, increments, added, expelled]: Add): void {
    const gone: (readonly [number, string])[] = []
    const bits = keys.map((key, i) => {
      const increment = typeof increments === 'number' ? increments : (increments[i] as number)
      const [isAdded, out] = this.top.add(`${this.prefix}${key}`, increment)
      if (out !== undefined) gone.push([i, out])
      return isAdded ? '1' : '0'
    })
    this.adds += keys.length
    expect(bits.join('')).toBe(added)
    expect(gone).toEqual(expelled)
  }

  private list([, total, draws, items]: List): void {
    expect([this.top.total, this.drawn]).toEqual([total, draws])
    expect(this.top.list().map(({ key, count }) => [key, count])).toEqual(items.map(([key, count]) => [key, count]))
  }
}

describe('the replica replays the top-k of aegis', () => {
  let adds = 0
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const replayed = new Replayed(recorded.config)
    vectors.replay(recorded, (step) => replayed.play(step))
    adds += replayed.adds
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary} with ${adds} adds, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect([vectors.cases.length, vectors.steps]).toEqual([11, 281])
  })
})
