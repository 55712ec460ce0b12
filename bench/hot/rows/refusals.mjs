// A breaker that is open: refusing must be far cheaper than serving.
import { refuse, work } from '../../method/loops.mjs'
import { cockatielBreaker, opossum } from '../peers.mjs'

/** A pipeline whose breaker has opened by failures and stays open for longer than the run. */
async function open(floodwall) {
  const { breaker, pipeline } = await floodwall()
  const inventory = pipeline('inventory', [breaker({ failureRate: 0.5, over: '10s', atLeast: 20, openFor: '1h' })])
  for (let i = 0; i < 20; i++) await inventory.call(refuse).catch(() => {})
  const { rejection } = await inventory.outcome(work)
  if (rejection?.reason !== 'open')
    throw new Error(`expected an open breaker, got: ${rejection?.reason ?? 'no refusal'}`)
  return inventory
}

export const refusals = [
  {
    name: 'refusal as outcome',
    shape: 'awaited',
    async make(floodwall) {
      const inventory = await open(floodwall)
      return () => inventory.outcome(work)
    },
  },
  {
    name: 'refusal as outcome, not awaited',
    shape: 'value',
    async make(floodwall) {
      const inventory = await open(floodwall)
      if (inventory.outcome(work) instanceof Promise) throw new Error('expected the refusal as a value, got a promise')
      return () => inventory.outcome(work)
    },
  },
  {
    name: 'refusal thrown',
    shape: 'caught',
    async make(floodwall) {
      const inventory = await open(floodwall)
      return () => inventory.call(work)
    },
  },
  {
    name: 'opossum: refusal thrown',
    shape: 'caught',
    async make() {
      const breaker = await opossum({ timeout: false, resetTimeout: 3_600_000 })
      breaker.open()
      return () => breaker.fire()
    },
  },
  {
    name: 'cockatiel: refusal thrown',
    shape: 'caught',
    async make() {
      const breaker = await cockatielBreaker()
      breaker.isolate()
      return () => breaker.execute(work)
    },
  },
]
