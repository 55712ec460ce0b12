// What a deadline costs that does not fire, beside the bare race: a promise of its own, settled by whoever is first.
import { work } from '../../method/loops.mjs'

export const deadlines = [
  {
    name: 'deadline that does not fire',
    shape: 'raced',
    async make(floodwall) {
      const { deadline, pipeline } = await floodwall()
      const inventory = pipeline('inventory', [deadline({ within: '1s' })])
      return () => inventory.call(work)
    },
  },
  {
    name: 'timeout that does not fire',
    shape: 'raced',
    async make(floodwall) {
      const { pipeline, timeout } = await floodwall()
      const inventory = pipeline('inventory', [timeout({ after: '1s' })])
      return () => inventory.call(work)
    },
  },
]
