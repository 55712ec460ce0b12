import { answered, type Layer, type Pipeline } from 'floodwall'
import { expect, test } from 'vitest'
import { type Config, configOf } from '../src/gateway/config/config.ts'
import { FirstByte } from '../src/gateway/exchange/first-byte.ts'
import { Site } from '../src/gateway/site.ts'
import { later } from './support/cleanup.ts'
import { configFile } from './support/gateway.ts'

const configFor = (settings: object): Config => configOf({ config: configFile(JSON.stringify(settings)) })

/** Goes wrong the second time that it is made: the first is the one that tries it out. */
function moody(): Layer {
  let made = 0
  return {
    kind: 'moody',
    options: Object.freeze({}),
    build: ({ path }) => {
      if (++made === 2) throw new Error('moody')
      return { kind: 'moody', path, run: (call, next, done) => next(call, done) }
    },
  }
}

test('other settings that go wrong half-way: what was new is ended, and what was there goes on', () => {
  const made: Pipeline[] = []
  const before = configFor({
    clusters: { a: { endpoints: ['http://127.0.0.1:1'] } },
    routes: [{ id: 'a', cluster: 'a' }],
  })
  const site = new Site(
    before,
    () => {},
    (each) => made.push(each),
  )
  later(() => void site.close())
  const kept = [...made]
  const after = configFor({
    clusters: { a: { endpoints: ['http://127.0.0.1:1'] }, b: { endpoints: ['http://127.0.0.1:2'] } },
    routes: [
      { id: 'b', path: '/b', cluster: 'b' },
      { id: 'c', path: '/c', cluster: 'b' },
      { id: 'a', cluster: 'a' },
    ],
  })
  const routes = after.routes.map((route) => (route.id === 'c' ? { ...route, layers: [moody()] } : route))
  expect(() => site.update({ ...after, routes })).toThrow('moody')
  const added = made.filter((each) => !kept.includes(each))
  // The cluster, and the first of the routes.
  expect(added).toHaveLength(2)
  for (const each of added) expect(isClosed(each)).toBe(true)
  for (const each of kept) expect(isClosed(each)).toBe(false)
  expect(site.routes.map(({ id }) => id)).toEqual(['a'])
  expect(site.clusters.map(({ name }) => name)).toEqual(['a'])
})

const passing = new FirstByte({ afterMs: undefined, from: 'layers' }, 'test')

function isClosed(pipeline: Pipeline): boolean {
  let reason: string | undefined
  pipeline.start(
    (_call, done) => done(answered('ran')),
    (outcome) => {
      reason = outcome.rejection?.reason
    },
    // So much of an exchange as the layers look at.
    { data: { head: { bodyBytes: 0 }, route: { firstByte: passing } } },
  )
  return reason === 'closed'
}
