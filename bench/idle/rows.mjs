// Things of which a service may own thousands, most of them asleep: one per endpoint, per tenant, per route. A row is
// { name, make }: `make` gets a function that imports floodwall and returns (i) => one object, kept alive by the caller.
// `used` rows call each of them once first: a window that is allocated on first use must not hide from the figure.

import { cockatielBreaker, opossum } from '../hot/peers.mjs'
import { work } from '../method/loops.mjs'

const options = { failureRate: 0.5, over: '10s', atLeast: 20 }

export const rows = [
  {
    name: 'idle breakers',
    async make(floodwall) {
      const { Breaker } = await floodwall()
      return () => new Breaker(options)
    },
  },
  {
    name: 'idle breakers, used',
    async make(floodwall) {
      const { Breaker } = await floodwall()
      return () => {
        const gate = new Breaker(options)
        const now = performance.now()
        gate
          .tryAcquire({ now, deadline: Infinity, criticality: 'critical', cost: 1, key: '' })
          .settle('success', 1, now)
        return gate
      }
    },
  },
  {
    name: 'idle pipelines',
    async make(floodwall) {
      const { breaker, pipeline } = await floodwall()
      return (i) => pipeline(`endpoint-${i}`, [breaker(options)])
    },
  },
  {
    name: 'idle pipelines, used',
    async make(floodwall) {
      const { breaker, pipeline } = await floodwall()
      return async (i) => {
        const made = pipeline(`endpoint-${i}`, [breaker(options)])
        await made.call(work)
        return made
      }
    },
  },
  {
    name: 'idle pipelines of 4',
    async make(floodwall) {
      const { breaker, bulkhead, pipeline, retry, timeout } = await floodwall()
      return (i) =>
        pipeline(`endpoint-${i}`, [
          retry({ attempts: 3 }),
          breaker(options),
          bulkhead({ slots: 64 }),
          timeout({ after: '250ms' }),
        ])
    },
  },
  {
    name: 'opossum: idle breakers',
    make: () => () => opossum(),
  },
  {
    name: 'cockatiel: idle breakers',
    make: () => () => cockatielBreaker(),
  },
]
