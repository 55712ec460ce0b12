import { hotParameter, type Pipeline, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

// The n-th argument of a wrapped function.

function shop(world = new VirtualRuntime()): Pipeline {
  return pipeline('shop', [hotParameter({ parameter: 1, rate: 1, per: '1h', burst: 2 })], { runtime: world })
}

const outcomes = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map(({ status }) => status === 'fulfilled')

test('wrap: the argument counts that the rule names, and no other one', async () => {
  const buy = shop().wrap((_user: string, item: string) => item)
  const asked = [buy('ann', 'tv'), buy('ben', 'tv'), buy('cem', 'tv'), buy('ann', 'radio')]
  expect(await outcomes(asked)).toEqual([true, true, false, true])
})

test('wrapCall: the same, counted without the call', async () => {
  const buy = shop().wrapCall((_call, _user: string, item: string) => item)
  const asked = [buy('ann', 'tv'), buy('ben', 'tv'), buy('cem', 'tv'), buy('ann', 'radio')]
  expect(await outcomes(asked)).toEqual([true, true, false, true])
})

test('a call without that argument is none of its business', async () => {
  const buy = shop().wrap((...args: string[]) => args.length)
  expect(await outcomes(Array.from({ length: 5 }, () => buy('ann')))).toEqual([true, true, true, true, true])
})
