// One closed breaker around a call that succeeds: the common case of the whole library.
import { work } from '../../method/loops.mjs'
import { cockatielBreaker, opossum } from '../peers.mjs'
import { pollute } from '../pollution.mjs'

const options = { failureRate: 0.5, over: '10s', atLeast: 20 }

export const breakers = [
  {
    name: 'breaker closed',
    shape: 'awaited',
    async make(floodwall) {
      const { breaker, pipeline } = await floodwall()
      const inventory = pipeline('inventory', [breaker(options)])
      return () => inventory.call(work)
    },
  },
  {
    // What users have: their process runs other gates and pipelines too, so the shared code has seen them all.
    name: 'breaker closed, polluted',
    shape: 'awaited',
    async make(floodwall) {
      const library = await floodwall()
      await pollute(library)
      const inventory = library.pipeline('inventory', [library.breaker(options)])
      return () => inventory.call(work)
    },
  },
  {
    // A slow-call rate needs the precise clock, twice per call.
    name: 'breaker closed, latency',
    shape: 'awaited',
    async make(floodwall) {
      const { breaker, pipeline } = await floodwall()
      const inventory = pipeline('inventory', [breaker({ ...options, slowAfter: '1s' })])
      return () => inventory.call(work)
    },
  },
  {
    // Without its timeout, which is on by default: a breaker alone is compared with a breaker alone.
    name: 'opossum: breaker closed',
    shape: 'awaited',
    async make() {
      const breaker = await opossum({ timeout: false })
      return () => breaker.fire()
    },
  },
  {
    name: 'opossum: breaker closed, default timeout',
    shape: 'awaited',
    async make() {
      const breaker = await opossum()
      return () => breaker.fire()
    },
  },
  {
    name: 'cockatiel: breaker closed',
    shape: 'awaited',
    async make() {
      const breaker = await cockatielBreaker()
      return () => breaker.execute(work)
    },
  },
]
