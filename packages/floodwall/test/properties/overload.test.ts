import fc from 'fast-check'
import { answered, failed, overload, pipeline, type Snapshot, timeout } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'

// Whatever callers and works do: no place is lost, nobody is forgotten, and the next call is taken.

const CLASSES = ['criticalPlus', 'critical', 'sheddablePlus', 'sheddable'] as const

const options = fc.record({
  size: fc.constantFrom(1, 3, 100),
  atMost: fc.constantFrom(20, 200, 2000),
  limits: fc.record({ start: fc.constantFrom(1, 4), most: fc.constantFrom(2, 8) }),
})

function live(seed: number, given: Parameters<typeof overload>[0], withTimeout: boolean, steps: number): void {
  const random = seeded(seed)
  const below = (n: number) => Math.floor(random() * n)
  const world = new VirtualRuntime({ seed })
  const layers = [overload(given), ...(withTimeout ? [timeout({ after: 30 })] : [])]
  const p = pipeline('api', layers, { runtime: world })
  const look = () => (p.inspect()['layers'] as Snapshot[])[0] as unknown as Record<string, number>
  const aborters: AbortController[] = []
  let begun = 0
  let ended = 0
  for (let i = 0; i < steps; i++) {
    const act = below(10)
    if (act < 2) world.advance(below(40))
    else if (act === 2) aborters[below(aborters.length)]?.abort('left')
    else {
      const aborter = new AbortController()
      aborters.push(aborter)
      begun++
      p.start(
        (call, done) => {
          const fate = below(6)
          if (fate === 0) throw new Error('broken')
          if (fate === 1) return done(answered(1))
          if (fate === 2) call.hold(100)
          world.after(below(60), () => {
            done(fate === 3 ? failed(new Error('no')) : answered(1))
            // Twice is once.
            done(answered(2))
          })
        },
        () => void ended++,
        {
          ...{
            criticality: CLASSES[below(4)]!,
            signal: aborter.signal,
            key: below(50),
            waitedMs: below(3) * below(40),
          },
          ...(below(4) === 0 ? { within: 1 + below(100) } : {}),
        },
      )
    }
    // Who has waited for the loop waits for the end of its turn, though there is room; and no longer.
    const now = look()
    if ((now['waiting'] ?? 0) > 0 && (now['inFlight'] ?? 0) < (now['limit'] ?? 0)) world.advance(0)
    const { inFlight = 0, limit = 0, waiting = 0 } = look()
    if (inFlight < 0 || waiting > (given?.size ?? 1000)) throw new Error(`${inFlight} inside, ${waiting} wait`)
    if (waiting > 0 && inFlight < limit) throw new Error(`${waiting} wait while ${inFlight} of ${limit} are inside`)
  }
  world.run()
  const { inFlight, waiting } = look()
  expect({ inFlight, waiting, timers: world.timers, open: begun - ended }).toEqual({
    ...{ inFlight: 0, waiting: 0, timers: 0, open: 0 },
  })
  // So long nobody of a lower class is taken after a higher one was refused.
  world.advance(100)
  let taken = false
  p.start(
    (_, done) => {
      taken = true
      done(answered(1))
    },
    () => {},
    { criticality: 'sheddable' },
  )
  expect(taken).toBe(true)
}

test('1,000 random lives of up to 200 steps leave nothing behind', { timeout: 60_000 }, () => {
  fc.assert(fc.property(fc.nat(), options, fc.boolean(), fc.integer({ min: 1, max: 200 }), live), {
    seed: 1,
    numRuns: 1000,
  })
})
