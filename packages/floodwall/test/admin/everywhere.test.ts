import { type Broadcast, localBroadcast } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { until } from '../adapters/client.ts'
import { fieldsOf, Office } from './office.ts'

// Two processes, each with a clock, chance, a cache and a table of its own, on one broadcast; an operator asks one of them.

async function two(broadcast: Broadcast = localBroadcast()): Promise<[Office, Office]> {
  const open = (seed: number) => new Office({}, broadcast, new VirtualRuntime({ seed })).open()
  return [await open(1), await open(2)]
}

test('a refresh everywhere: the other process loads too, within a second, and both have the new rows', async () => {
  const [here, there] = await two()
  await using _here = here
  await using _there = there
  const refreshing = here.post('/tables/rates/refresh', { everywhere: true })
  await until(() => here.refreshes.length === 1)
  await here.answerTable([['EUR', 2]])
  const answer = await refreshing
  expect([answer.status, fieldsOf(answer)]).toMatchObject([200, { version: 2, broadcast: { said: 1, unsaid: 0 } }])
  expect([there.refreshes.length, there.table.get('EUR')]).toEqual([0, 1])
  await there.world.advanceAsync('1s')
  await there.answerTable([['EUR', 2]])
  expect([here.table.get('EUR'), there.table.get('EUR'), there.table.version]).toEqual([2, 2, 2])
  expect([here.steered, there.steered]).toEqual([['admin/tables/rates refresh: everywhere'], []])
})

test('a refresh that fails here is done elsewhere all the same', async () => {
  const [here, there] = await two()
  await using _here = here
  await using _there = there
  const refreshing = here.post('/tables/rates/refresh', { everywhere: true })
  await until(() => here.refreshes.length === 1)
  here.refreshes.shift()?.fail(new Error('this one sees no source'))
  expect((await refreshing).status).toBe(502)
  await there.world.advanceAsync('1s')
  await there.answerTable([['EUR', 2]])
  expect([here.table.get('EUR'), there.table.get('EUR')]).toEqual([1, 2])
})

test('without everywhere nobody else hears of it', async () => {
  const [here, there] = await two()
  await using _here = here
  await using _there = there
  const refreshing = here.post('/tables/rates/refresh')
  await until(() => here.refreshes.length === 1)
  await here.answerTable([['EUR', 2]])
  const warming = here.post('/caches/items/warm', { keys: ['phone'] })
  await until(() => here.loads.length === 1)
  here.loads[0]?.answer('7 left')
  await Promise.all([refreshing, warming, here.post('/caches/items/forget', { keys: ['phone'] })])
  await there.world.advanceAsync('2s')
  expect([there.refreshes.length, there.loads.length, there.cache.inspect()['broadcast']]).toMatchObject([
    0,
    0,
    { heard: 0 },
  ])
})

test('a warm-up everywhere fills both caches for the time that was asked for; forgetting everywhere empties both', async () => {
  const [here, there] = await two()
  await using _here = here
  await using _there = there
  const warming = here.post('/caches/items/warm', { keys: ['phone', 7], ttl: '1h', everywhere: true })
  await until(() => here.loads.length === 2 && there.loads.length === 2)
  expect(there.loads.map(({ key }) => key)).toEqual(['phone', 7])
  for (const { answer } of [...here.loads, ...there.loads]) answer('v')
  expect(fieldsOf(await warming)).toMatchObject({ warmed: 2, broadcast: { said: 1, unsaid: 0 } })
  expect(here.steered).toEqual(['admin/caches/items warm: 2 keys for 60m, everywhere'])
  there.world.advance('59m')
  expect([await there.cache.get('phone'), there.loads.length]).toEqual(['v', 2])

  const forgotten = await here.post('/caches/items/forget', { keys: ['phone', 'watch'], everywhere: true })
  expect(fieldsOf(forgotten)).toMatchObject({ forgotten: 1, broadcast: { said: 2 } })
  expect([here.cache.inspect()['entries'], there.cache.inspect()['entries']]).toEqual([1, 1])
})

test('a broadcast that is down: it is done here, and the answer says that the others were not told', async () => {
  const down: Broadcast = {
    publish() {
      throw new Error('no bus')
    },
    subscribe: () => () => {},
  }
  const [here, there] = await two(down)
  await using _here = here
  await using _there = there
  const warming = here.post('/caches/items/warm', { keys: ['phone'], everywhere: true })
  await until(() => here.loads.length === 1)
  here.loads[0]?.answer('7 left')
  expect(fieldsOf(await warming)).toMatchObject({ warmed: 1, broadcast: { said: 0, unsaid: 1 } })
  expect(there.loads.length).toBe(0)
})
