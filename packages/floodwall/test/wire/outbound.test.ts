import { type Call, type Criticality, deadline, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { type OutboundOptions, writeOutbound } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'

// What a call says about itself, and when it says nothing because nothing must be sent.

type Told = Record<string, string> | 'not sent'

function told(call: Call, options: Partial<OutboundOptions> = {}): Told {
  const headers: Record<string, string> = {}
  const may = writeOutbound(call, { marginMs: 0, ...options }, (name, value) => (headers[name] = value))
  return may ? headers : Object.keys(headers).length === 0 ? 'not sent' : headers
}

async function ofCall(within: number | undefined, options: Partial<OutboundOptions> = {}): Promise<Told> {
  const p = pipeline('p', [], { runtime: new VirtualRuntime() })
  return p.call((call) => told(call, options), within === undefined ? {} : { within })
}

describe('C18 the time that is told', () => {
  const DAY = 86_400_000
  test.each<[string, number | undefined, string | undefined]>([
    ['1500 ms', 1500, '1500'],
    ['one millisecond', 1, '1'],
    ['a fraction more', 7.9, '7'],
    ['27.8 h', 100_080_000, '100080000'],
    ['40 days', 40 * DAY, String(40 * DAY)],
    ['200 days: ten digits', 200 * DAY, '9999999999'],
    ['no deadline', undefined, undefined],
  ])('%s', async (_, within, timeout) => {
    const headers = await ofCall(within)
    expect((headers as Record<string, string>)['x-floodwall-timeout-ms']).toBe(timeout)
  })

  test('0.4 ms: nothing is told, and nothing must be sent', async () => {
    expect(await ofCall(0.4)).toBe('not sent')
  })

  test('past: the same', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [], { runtime: world })
    let late: Told = {}
    const call = p.call(
      (c) => new Promise<void>((resolve) => c.signal.addEventListener('abort', () => resolve(void (late = told(c))))),
      { within: 5 },
    )
    call.catch(() => {})
    await world.advanceAsync(5)
    expect(late).toBe('not sent')
  })

  test.each<[number, number, number, string | undefined]>([
    [700, 0, Number.POSITIVE_INFINITY, '700'],
    [700, 5, Number.POSITIVE_INFINITY, '695'],
    [700, 5, 100, '100'],
    [700, 5, 695, '695'],
    [700, 5, 698, '695'],
    [5.9, 5, 100, undefined],
    [6, 5, 100, '1'],
  ])('%d ms left, a margin of %d, %d for an attempt: %s', async (within, marginMs, attemptMs, timeout) => {
    const headers = await ofCall(within, { marginMs, attemptMs })
    if (timeout === undefined) expect(headers).toBe('not sent')
    else expect(headers).toMatchObject({ 'x-floodwall-timeout-ms': timeout })
  })

  test('an attempt has its time where the operation has no end', async () => {
    expect(await ofCall(undefined, { marginMs: 5, attemptMs: 100 })).toMatchObject({ 'x-floodwall-timeout-ms': '100' })
  })
})

test.each<[Criticality, string]>([
  ['criticalPlus', 'CRITICAL_PLUS'],
  ['critical', 'CRITICAL'],
  ['sheddablePlus', 'SHEDDABLE_PLUS'],
  ['sheddable', 'SHEDDABLE'],
])('%s is told as %s, in baggage too where that is wanted', async (criticality, name) => {
  const p = pipeline('p', [], { runtime: new VirtualRuntime(), criticality })
  const all = await p.call((call) => [told(call), told(call, { baggage: 'a=1,b=2;p=3' }), told(call, { baggage: '' })])
  const header = { 'x-floodwall-criticality': name }
  expect(all).toEqual([
    header,
    { ...header, baggage: `a=1,b=2;p=3,floodwall.criticality=${name}` },
    { ...header, baggage: `floodwall.criticality=${name}` },
  ])
})

test('baggage that is full is left as it is', async () => {
  const full = `a=${'x'.repeat(8180)}`
  const p = pipeline('p', [], { runtime: new VirtualRuntime() })
  expect(await p.call((call) => told(call, { baggage: full }))).toEqual({ 'x-floodwall-criticality': 'CRITICAL' })
})

test('the number of the attempt from the second on; how many there are lately where somebody counts', async () => {
  const world = new VirtualRuntime()
  const layers = [deadline({ within: 1000 }), retry({ backoff: { first: 10, atMost: 10 } })]
  const p = pipeline('p', layers, { runtime: world })
  const all: Told[] = []
  const result = p.call(
    (call) => {
      all.push(told(call, { attempts: '4,1' }))
      return Promise.reject(new Error('x'))
    },
    { idempotent: true },
  )
  result.catch(() => {})
  await world.advanceAsync(1000)
  expect(all.map((headers) => (headers as Record<string, string>)['x-floodwall-attempt'])).toEqual([
    undefined,
    '1',
    '2',
  ])
  expect(all[0]).toEqual({
    'x-floodwall-timeout-ms': '1000',
    'x-floodwall-criticality': 'CRITICAL',
    'x-floodwall-attempts': '4,1',
  })
})
