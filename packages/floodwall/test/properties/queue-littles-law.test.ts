import fc from 'fast-check'
import { answered, bulkhead, type Criticality, pipeline, queue } from 'floodwall'
import { Clients, exponential, poisson, Server, World } from 'floodwall/simulator'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

// Little, "A Proof for the Queuing Formula L = λW" (1961): the mean number that waits is the rate of those who come, times the mean wait. It
// holds for every order and discipline, those who leave in vain included. Over a time that begins and ends with an empty line it is no
// statistics but a sum written in two ways.

const CLASSES: readonly Criticality[] = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable']
const codels = [
  {},
  { codel: {} },
  { codel: { target: 5, interval: 30, trigger: 'age' as const } },
  { codel: { target: 5, interval: 30, at: 'turn' as const } },
]

test('the area below the number that waits is the sum of all waits', () => {
  let waited = 0
  const options = fc.record({
    order: fc.constantFrom('fifo' as const, 'lifo' as const, 'adaptive' as const),
    size: fc.constantFrom(3, 50),
    atMost: fc.constantFrom(30, 200),
    codel: fc.constantFrom(...codels),
    slots: fc.integer({ min: 1, max: 4 }),
    load: fc.constantFrom(0.5, 0.9, 1.5, 4),
    seed: fc.nat(),
  })
  fc.assert(
    fc.property(options, ({ order, size, atMost, codel, slots, load, seed }) => {
      const world = new VirtualRuntime({ seed })
      const random = seeded(seed)
      const p = pipeline('p', [queue({ order, size, atMost, ...codel }), bulkhead({ slots })], { runtime: world })
      const room = p.find('queue') as unknown as { readonly waiting: number }
      let [area, waits, at, level] = [0, 0, 0, 0]
      // Called before and after anything happens: between two calls the line is as it is.
      const look = (): void => {
        area += level * (world.now() - at)
        at = world.now()
        level = room.waiting
      }
      const come = (): void => {
        const since = world.now()
        let waiting = true
        const stop = (): void => {
          if (waiting) waits += world.now() - since
          waiting = false
        }
        p.start(
          (_, done) => {
            stop()
            look()
            world.after(-Math.log(1 - random()) * 10, () => (look(), done(answered(1)), look()))
          },
          () => (stop(), look()),
          { criticality: CLASSES[Math.floor(random() * 4)] as Criticality, ...(random() < 0.3 ? { within: 50 } : {}) },
        )
        look()
      }
      let t = 0
      for (let i = 0; i < 300; i++) {
        t += (-Math.log(1 - random()) * 10) / slots / load
        world.after(t, () => (look(), come()))
      }
      world.run()
      look()
      expect(room.waiting).toBe(0)
      expect(Math.abs(area - waits)).toBeLessThan(1e-6 * Math.max(1, waits))
      waited += waits
    }),
    { seed: 5, numRuns: 300 },
  )
  // It was not for nothing.
  expect(waited).toBeGreaterThan(1e5)
})

test('in the simulator, as means over time: L = λW at the queue of a server', () => {
  for (const order of ['fifo', 'lifo', 'adaptive'] as const) {
    const world = new World({ seed: 7 })
    const guard = [queue({ size: 1000, atMost: '100s', order }), bulkhead({ slots: 4 })]
    const server = new Server(world, 's', { workers: 4, service: exponential(20), guard, refusal: 0 })
    new Clients(world, 'c', { to: server, arrivals: poisson(170) })
    world.run('10s')
    world.forget()
    const { servers } = world.run('120s')
    const { meanInside, queueDelay, utilisation, good, refused } = servers['s'] as NonNullable<(typeof servers)['s']>
    const perMs = good / 120_000
    // Inside are those who wait and those who are served.
    const waiting = meanInside - 4 * utilisation
    expect(refused).toBe(0)
    expect(Math.abs(waiting / (perMs * (queueDelay.mean as number)) - 1)).toBeLessThan(0.02)
  }
})
