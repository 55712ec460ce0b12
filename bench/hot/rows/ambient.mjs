// What it costs that calls know on whose behalf they are made: passed along, and found in the ambient context. Once that has been used, all
// promises of the process are dearer, the bare call's as well: compare the nanoseconds of rows and not their ratios.
import { work } from '../../method/loops.mjs'

async function two(floodwall) {
  const { breaker, deadline, pipeline } = await floodwall()
  const front = pipeline('front', [deadline({ within: '1s' })])
  const inventory = pipeline('inventory', [breaker({ failureRate: 0.5, over: '10s', atLeast: 20 })])
  return { front, inventory }
}

async function turnOn({ front }) {
  const { ambient } = await import('floodwall/server')
  ambient()
  await front.call(work)
}

export const ambient = [
  {
    name: 'a call within a call, parent passed',
    shape: 'awaited',
    async make(floodwall) {
      const { front, inventory } = await two(floodwall)
      return () => front.call((parent) => inventory.call(work, { parent }))
    },
  },
  {
    name: 'a call within a call, ambient',
    shape: 'awaited',
    async make(floodwall) {
      const pipelines = await two(floodwall)
      await turnOn(pipelines)
      const { front, inventory } = pipelines
      return () => front.call(() => inventory.call(work))
    },
  },
  {
    name: 'floor: bare call, ambient on',
    shape: 'awaited',
    async make(floodwall) {
      await turnOn(await two(floodwall))
      return work
    },
  },
]
