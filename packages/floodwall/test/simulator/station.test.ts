import { expect, test } from 'vitest'
import { Level } from '../../src/simulator/level.ts'
import { type Job, Station } from '../../src/simulator/station.ts'

/** A job that takes `ms`, and may do something on its turn. */
class Work implements Job {
  following: Job | null = null
  readonly name: string
  private readonly ms: number
  private readonly onTurn: () => void

  constructor(name: string, ms: number, onTurn: () => void = () => {}) {
    this.name = name
    this.ms = ms
    this.onTurn = onTurn
  }

  turn(): number {
    this.onTurn()
    return this.ms
  }
}

function station(workers: number) {
  const served: string[] = []
  const levels = { busy: new Level(1000), waiting: new Level(1000) }
  const made = new Station<Work>(
    workers,
    levels,
    () => 0,
    ({ name }, ms) => void served.push(`${name} ${ms}`),
  )
  return { station: made, served, state: () => [levels.busy.value, levels.waiting.value] }
}

test('so many are served, the others wait in their order', () => {
  const { station: one, served, state } = station(2)
  for (const name of ['a', 'b', 'c', 'd', 'e']) one.enter(new Work(name, 1))
  expect([served, state()]).toEqual([
    ['a 1', 'b 1'],
    [2, 3],
  ])
  one.leave()
  one.leave()
  expect([served.slice(2), state()]).toEqual([
    ['c 1', 'd 1'],
    [2, 1],
  ])
  for (let i = 0; i < 3; i++) one.leave()
  expect([served.at(-1), state()]).toEqual(['e 1', [0, 0]])
})

test('who is not wanted any more takes no worker, and no number of them overflows the stack', () => {
  const { station: one, served, state } = station(1)
  one.enter(new Work('first', 1))
  for (let i = 0; i < 100_000; i++) one.enter(new Work('gone', -1))
  one.enter(new Work('last', 1))
  one.leave()
  expect([served, state()]).toEqual([
    ['first 1', 'last 1'],
    [1, 0],
  ])
})

test('nobody waits while a worker is free, whatever a turn brings here', () => {
  const { station: one, served, state } = station(1)
  one.enter(new Work('gone', -1, () => one.enter(new Work('next', 1))))
  expect([served, state()]).toEqual([['next 1'], [1, 0]])
})

test('cleared, it is as new', () => {
  const { station: one, served, state } = station(1)
  for (const name of ['a', 'b', 'c']) one.enter(new Work(name, 1))
  one.clear()
  expect(state()).toEqual([0, 0])
  one.enter(new Work('d', 1))
  one.leave()
  expect([served, state()]).toEqual([
    ['a 1', 'd 1'],
    [0, 0],
  ])
})
