// Four layers around a call that succeeds at once; the timeout frees the caller.
import { work } from '../../method/loops.mjs'
import { cockatielFour } from '../peers.mjs'
import { pollute } from '../pollution.mjs'

function four({ breaker, bulkhead, pipeline, retry, timeout }) {
  return pipeline('inventory', [
    retry({ attempts: 3 }),
    breaker({ failureRate: 0.5, over: '10s', atLeast: 20 }),
    bulkhead({ slots: 64 }),
    timeout({ after: '250ms' }),
  ])
}

export const pipelines = [
  {
    name: 'pipeline of 4',
    shape: 'awaited',
    async make(floodwall) {
      const inventory = four(await floodwall())
      return () => inventory.call(work)
    },
  },
  {
    name: 'pipeline of 4, polluted',
    shape: 'awaited',
    async make(floodwall) {
      const library = await floodwall()
      await pollute(library)
      const inventory = four(library)
      return () => inventory.call(work)
    },
  },
  {
    name: 'cockatiel: pipeline of 4',
    shape: 'awaited',
    async make() {
      const inventory = await cockatielFour()
      return () => inventory.execute(work)
    },
  },
]
