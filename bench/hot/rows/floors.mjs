// What the mechanism costs without any policy: no library can be cheaper than the floor it stands on.
import { race, work } from '../../method/loops.mjs'

export const floors = [
  {
    // The bare call through the loop of the wrapped rows: it must read 1.0, or the method is broken.
    name: 'floor: bare call again',
    shape: 'awaited',
    make: () => work,
  },
  {
    name: 'floor: async function',
    shape: 'awaited',
    make: () => async () => {
      const value = await work()
      return value
    },
  },
  {
    // A layer that must see how the call ended, and keeps something per call.
    name: 'floor: then with two closures',
    shape: 'awaited',
    make: () => {
      let good = 0
      let bad = 0
      return () => {
        const generation = good - bad
        return work().then(
          (value) => {
            good += generation === 0 ? 1 : 2
            return value
          },
          (error) => {
            bad += generation === 0 ? 1 : 2
            throw error
          },
        )
      }
    },
  },
  {
    // A caller who can be freed before the work ends: a promise of its own, settled by whoever is first.
    name: 'floor: promise race',
    shape: 'awaited',
    make: () => race,
  },
]
