import { answered, bulkhead, deadline, failed, pipeline, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { layerOf, leftIn, NOTHING } from '../core/fate.ts'

// Who cannot be in time any more leaves before his turn, with the reason 'deadline': a slot is not for answers that nobody waits for.

/** One slot of 20 ms, which is known. */
function room(serviceMs = 20) {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue({ atMost: '10s' }), bulkhead({ slots: 1 })], { runtime: world })
  const ends: { name: string; how: unknown; at: number; why?: string }[] = []
  const come = (name: string, within = Number.POSITIVE_INFINITY, ms = serviceMs) =>
    p.start(
      (_, done) => void world.after(ms, () => done(answered(name))),
      (o) => {
        const how = o.rejection?.reason ?? (o.ok ? 'answered' : (o.error as { code?: string }).code)
        ends.push({
          name,
          how,
          at: world.now() - start,
          ...(o.rejection === undefined ? {} : { why: o.rejection.why }),
        })
      },
      within === Number.POSITIVE_INFINITY ? {} : { within },
    )
  let start = 0
  for (let i = 0; i < 20; i++) come('warm')
  world.run()
  start = world.now()
  ends.length = 0
  return { world, p, ends, come, shown: () => layerOf(p, 'queue') }
}

describe('who waits', () => {
  test('is refused where he stands, if those before him take too long', () => {
    const { world, ends, come, shown, p } = room()
    for (let i = 0; i < 5; i++) come(`${i}`)
    // Four wait, one each 20 ms, and 20 ms for himself.
    come('in vain', 90)
    expect(ends).toMatchObject([{ name: 'in vain', how: 'deadline', at: 0 }])
    expect(ends[0]?.why).toMatch(/^90ms remain, and it would take (9[5-9]|10[0-5])(\.\d)?ms$/)
    come('just', 125)
    world.run()
    expect(ends.at(-1)).toMatchObject({ name: 'just', how: 'answered', at: 120 })
    expect([shown()['tooLate'], leftIn(world, p)]).toEqual([1, NOTHING])
  })

  test('leaves at the last moment at which his work could begin, and not at his deadline', () => {
    const { world, ends, come, shown } = room()
    come('long', undefined, 1000)
    come('waits', 200)
    world.advance(300)
    const serviceMs = shown()['serviceMs'] as number
    expect(ends).toMatchObject([{ name: 'waits', how: 'deadline', at: 200 - serviceMs }])
    expect(Math.abs(serviceMs - 20)).toBeLessThan(1)
  })

  test('hears of a deadline layer further out in the same way', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: 200 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    const reasons: unknown[] = []
    const come = (ms: number) =>
      p.start(
        (_, done) => void world.after(ms, () => done(answered(1))),
        (o) => reasons.push(o.rejection?.reason ?? o.ok),
      )
    for (let i = 0; i < 40; i++) {
      come(10)
      come(10)
      world.advance(25)
    }
    reasons.length = 0
    come(199)
    come(10)
    world.run()
    expect([reasons, leftIn(world, p)]).toEqual([['deadline', true], NOTHING])
  })

  test('with patience to the deadline only, as long as nothing is known of the work', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ atMost: '10s' }), bulkhead({ slots: 1 })], { runtime: world })
    const at: number[] = []
    p.start(
      (_, done) => void world.after(500, () => done(answered(1))),
      () => {},
    )
    p.start(
      () => {},
      () => at.push(world.now()),
      { within: 100 },
    )
    world.advance(200)
    expect(at).toEqual([100])
  })
})

test('works that became slow lock nobody out for longer than they are remembered', () => {
  const { world, p, ends, come, shown } = room(400)
  expect(shown()['serviceMs']).toBeGreaterThan(380)
  // Only callers with 200 ms from now on; the work would be fast again, and fails for those who do get in.
  const fails = () =>
    p.start(
      (_, done) => void world.after(5, () => done(failed(new Error('x')))),
      (o) => ends.push({ name: '', how: o.rejection?.reason ?? 'ran', at: world.now() }),
      { within: 200 },
    )
  for (let i = 0; i < 15; i++) {
    fails()
    fails()
    world.advance(1000)
  }
  expect(shown()['serviceMs']).toBe(0)
  ends.length = 0
  come('a', 200, 5)
  come('b', 200, 5)
  world.run()
  expect(ends.map(({ how }) => how)).toEqual(['answered', 'answered'])
})
