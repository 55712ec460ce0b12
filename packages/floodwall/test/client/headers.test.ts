import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { balance, deadline, isRejected, pipeline, timeout } from 'floodwall'
import { ambient } from 'floodwall/server'
import { names } from 'floodwall/wire'
import { describe, expect, test, vi } from 'vitest'
import type { ClientOptions, FetchInit, RequestOptions } from '../../src/client/index.ts'
import { open } from './support/shop.ts'

// What every attempt says about itself, as it arrives.

type Way = 'fetch over pools' | 'the global fetch' | 'request'
const ways: Way[] = ['fetch over pools', 'the global fetch', 'request']

/** A client whose server keeps what arrives, and answers with these statuses, 200 after the last. */
async function listening(way: Way, options: ClientOptions = {}, statuses: number[] = []) {
  const arrived: IncomingHttpHeaders[] = []
  const handler: RequestListener = ({ headers }, res) => {
    arrived.push(headers)
    res.writeHead(statuses.shift() ?? 200).end('ok')
  }
  const scene = await open([handler], way === 'the global fetch' ? { ...options, fetch } : options)
  const ask = async (init: Partial<FetchInit & RequestOptions> = {}) => {
    if (way === 'request') await (await scene.shop.request({ ...(init as RequestOptions), path: '/' })).body.text()
    else await (await scene.shop.fetch('/', init as FetchInit)).text()
    return arrived.at(-1) as IncomingHttpHeaders
  }
  return { ...scene, arrived, ask }
}

const steering = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-floodwall') || name === 'baggage'))

describe.each(ways)('%s', (way) => {
  test('says what is left, and how much it matters', async () => {
    const { ask } = await listening(way, { criticality: 'sheddablePlus' })
    const headers = await ask({ within: 5000 })
    expect(headers[names.criticality]).toBe('SHEDDABLE_PLUS')
    const left = Number(headers[names.timeout])
    expect(left).toBeGreaterThan(1000)
    expect(left).toBeLessThanOrEqual(5000)
    expect((await ask({ criticality: 'sheddable' }))[names.criticality]).toBe('SHEDDABLE')
  })

  test('never more than an attempt is waited for, also after a reload', async () => {
    const { ask, shop, cluster } = await listening(way)
    expect((await ask())[names.timeout]).toBe('10000')
    const layers = [deadline({ within: '20s' }), balance({ cluster }), timeout({ after: '3s' })]
    shop.pipeline.reload(layers)
    expect((await ask())[names.timeout]).toBe('3000')
  })

  test('less a margin', async () => {
    const { ask } = await listening(way, { margin: '3s' })
    const left = Number((await ask({ within: 5000 }))[names.timeout])
    expect(left).toBeLessThanOrEqual(2000)
    expect(left).toBeGreaterThan(0)
  })

  test('which attempt it is, and how many there are lately', async () => {
    const { ask, arrived } = await listening(way, {}, [500])
    await ask()
    expect(arrived.map((headers) => headers[names.attempt])).toEqual([undefined, '1'])
    expect(arrived[0]?.[names.attempts]).toBe('1')
  })

  test("ours alone: what was copied from a caller's headers is not passed on", async () => {
    const stale = {
      'X-Floodwall-Timeout-Ms': '999999',
      'x-floodwall-attempts': '1,2,3',
      'x-floodwall-attempt': '7',
      'X-FLOODWALL-CRITICALITY': 'CRITICAL_PLUS',
      'x-other': 'stays',
    }
    const { ask } = await listening(way)
    const headers = await ask({ headers: stale })
    expect(headers[names.criticality]).toBe('CRITICAL')
    expect(headers[names.timeout]).toBe('10000')
    expect(headers[names.attempt]).toBeUndefined()
    expect(headers[names.attempts]).toBe('1')
    expect(headers['x-other']).toBe('stays')
  })

  test('to strangers nothing is said, and what the caller writes is his', async () => {
    const { ask } = await listening(way, { propagate: false, baggage: true })
    expect(steering(await ask())).toEqual({})
    expect(steering(await ask({ headers: { [names.criticality]: 'SHEDDABLE', baggage: 'a=1' } }))).toEqual({
      [names.criticality]: 'SHEDDABLE',
      baggage: 'a=1',
    })
  })

  test("in baggage, beside the caller's own", async () => {
    const { ask } = await listening(way, { baggage: true })
    expect((await ask())['baggage']).toMatch(/^floodwall\.criticality=CRITICAL,floodwall\.cohort=\d{1,3}(?:\.\d\d?)?$/)
    expect((await ask({ headers: { Baggage: 'user=ann,floodwall.criticality=SHEDDABLE' } }))['baggage']).toMatch(
      /^user=ann,floodwall\.criticality=CRITICAL,floodwall\.cohort=[\d.]+$/,
    )
    const without = await listening(way)
    expect((await without.ask({ headers: { Baggage: 'user=ann' } }))['baggage']).toBe('user=ann')
  })

  test('with less than a millisecond to tell it is refused, and nothing is sent', async () => {
    const { ask, arrived, shop, inFlight } = await listening(way, { margin: '50ms' })
    const error = await ask({ within: 50 }).catch((e: unknown) => e)
    expect(isRejected(error)).toBe(true)
    expect(error).toMatchObject({ code: 'deadline', path: 'shop', message: expect.stringMatching(/a margin of 50ms/) })
    expect([arrived, inFlight(), shop.pipeline.inspect()['running']]).toEqual([[], [0], 0])
  })

  test('the call on whose behalf it is made: its time, its importance', async () => {
    const { ask } = await listening(way)
    const outer = pipeline('outer', [deadline({ within: '4s' })])
    const headers = await outer.call((parent) => ask({ parent }), { criticality: 'sheddable' })
    expect(headers[names.criticality]).toBe('SHEDDABLE')
    expect(Number(headers[names.timeout])).toBeLessThanOrEqual(4000)
  })
})

test('with the ambient context on nobody has to pass the call along', async () => {
  using _ = ambient()
  let closed = 0
  const { shop } = await open([
    (req, res) => {
      res.on('close', () => closed++)
      res.writeHead(200).write(JSON.stringify(steering(req.headers)))
    },
  ])
  const aborter = new AbortController()
  const outer = pipeline('outer', [deadline({ within: '4s' })])
  let head = ''
  const answer = outer.call(
    async () => {
      const { body } = await shop.request({ path: '/' })
      for await (const chunk of body) {
        head += String(chunk)
        aborter.abort(new Error('the caller has left'))
      }
    },
    { criticality: 'sheddable', signal: aborter.signal },
  )
  await expect(answer).rejects.toThrow('the caller has left')
  const told = JSON.parse(head) as Record<string, string>
  expect(told[names.criticality]).toBe('SHEDDABLE')
  expect(Number(told[names.timeout])).toBeLessThanOrEqual(4000)
  await vi.waitFor(() => expect(closed).toBe(1), 10_000)
})

describe('headers of request', () => {
  test('an object, a Headers, a Map and pairs are the same', async () => {
    const { ask } = await listening('request')
    const given = [
      { 'x-a': '1', 'x-b': ['2', '3'], 'x-c': undefined },
      new Headers([
        ['x-a', '1'],
        ['x-b', '2, 3'],
      ]),
      new Map<string, unknown>([
        ['x-a', '1'],
        ['x-b', ['2', '3']],
      ]),
      [
        ['x-a', '1'],
        ['x-b', '2'],
        ['x-b', '3'],
      ],
    ]
    for (const headers of given) {
      const arrived = await ask({ headers: headers as never })
      expect([arrived['x-a'], arrived['x-b'], arrived['x-c']]).toEqual(['1', '2, 3', undefined])
    }
  })

  test('a flat list would be sent as something else, and is refused', async () => {
    const { ask } = await listening('request')
    await expect(ask({ headers: ['x-a', '1'] as never })).rejects.toThrow(/expected headers as an object/)
  })
})
