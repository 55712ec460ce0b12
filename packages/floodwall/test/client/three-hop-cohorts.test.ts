import { around, type Layer } from 'floodwall'
import { expect, test } from 'vitest'
import { cohortOf } from '../../src/algorithms/admission/priority.ts'
import { keepStanding, standingAtDoor } from '../../src/algorithms/admission/standing.ts'
import { failed } from '../../src/core/outcome.ts'
import { Flooded } from './support/flooded.ts'

// A -> B -> C, all of one user's request. Who is in at A must be in at B and C, or the work of A is thrown away. B and C can do half of what A
// can; only A knows the user, the others hear where he stands.

const USERS = 400

/** Twenty seconds at twice the load of A. `tells`: calls say where they stand, and are heard. */
async function chain(seed: number, tells: boolean) {
  const world = new Flooded(seed)
  const c = world.host('c', { workers: 2, trusts: tells })
  const toC = world.caller(['c'], { propagate: tells, holdBack: false })
  const onward = (user: string) => ({ headers: { 'x-of': user } })
  const b = world.host('b', {
    workers: 2,
    trusts: tells,
    then: async (call, user) => refuse(await toC.fetch('/', { parent: call, ...onward(user) })),
  })
  const toB = world.caller(['b'], { propagate: tells, holdBack: false })
  const a = world.host('a', {
    trusts: false,
    then: async (call, user) => refuse(await toB.fetch('/', { parent: call, ...onward(user) })),
  })
  const entry = world.caller(['a'], { propagate: false, holdBack: false })
  await world.flood(400, 20_000, () =>
    entry.fetch('/', { headers: { 'x-user': `u${Math.floor(world.runtime.random() * USERS)}` } }),
  )
  return { a, b, c }
}

function refuse({ status }: Response): void {
  if (status !== 200) throw new Error(String(status))
}

test('a user stands at one place in all three, as he does where his request came in', async () => {
  const { b, c } = await chain(1, true)
  for (const { verdicts } of [b, c]) {
    const same = verdicts.filter(({ user, cohort = -1 }) => Math.floor(cohort) === cohortOf(user, 0))
    console.log(`${same.length} of ${verdicts.length} stand where their user does`)
    expect(verdicts.length).toBeGreaterThan(1000)
    expect(same.length / verdicts.length).toBeGreaterThanOrEqual(0.99)
  }
})

/** Half of each class, by the place of a call: what a server at this level refuses. */
const half = (): Layer =>
  around(async (call, next) => {
    const standing = standingAtDoor(call, 0, Math.random())
    if (standing >= 64) return failed(new Error('refused'), 'overload', false)
    keepStanding(call, standing)
    return next(call)
  }, 'half')

test('at one level in all three whoever is let in by the first is let in by the others', async () => {
  const through = async (tells: boolean) => {
    const world = new Flooded(2)
    const ample = { workers: 1000, layers: [half()], trusts: tells }
    const c = world.host('c', ample)
    const toC = world.caller(['c'], { propagate: tells, holdBack: false })
    const b = world.host('b', { ...ample, then: async (parent) => refuse(await toC.fetch('/', { parent })) })
    const toB = world.caller(['b'], { propagate: tells, holdBack: false })
    world.host('a', { ...ample, trusts: false, then: async (parent) => refuse(await toB.fetch('/', { parent })) })
    const entry = world.caller(['a'], { propagate: false, holdBack: false })
    await world.flood(400, 5000, (i) => entry.fetch('/', i % 2 === 0 ? { headers: { 'x-user': `u${i}` } } : {}))
    return c.verdicts.filter(({ admitted }) => admitted).length / b.verdicts.length
  }
  const [told, untold] = [await through(true), await through(false)]
  console.log(
    `of what A let in, B and C let in ${(100 * told).toFixed(1)} %; where nothing is told ${(100 * untold).toFixed(1)} %`,
  )
  expect(told).toBeGreaterThanOrEqual(0.99)
  expect(untold).toBeLessThan(0.4)
})
