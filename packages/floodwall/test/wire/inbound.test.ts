import fc from 'fast-check'
import {
  controlHeaders,
  type Inbound,
  names,
  readAttempts,
  readBaggage,
  readCohort,
  readInbound,
  writeAttempts,
  writeBaggage,
  writeCohort,
} from 'floodwall/wire'
import { describe, expect, test } from 'vitest'

const options = { trusted: true, mostMs: 60_000, criticalPlus: false }

function read(headers: Record<string, string | string[]>, more: Partial<typeof options> = {}): Inbound {
  return readInbound((name) => headers[name], { ...options, ...more })
}

const all = {
  'x-floodwall-timeout-ms': '700',
  'x-floodwall-criticality': 'SHEDDABLE',
  'x-floodwall-cohort': '17.42',
  'x-floodwall-stands-for': '10',
  'x-floodwall-attempt': '2',
  'x-floodwall-attempts': '118,9,1',
}

test('what a trusted peer says is believed', () => {
  expect(read(all)).toEqual({
    within: 700,
    criticality: 'sheddable',
    cohort: 17.42,
    standsFor: 10,
    attempt: 2,
    attempts: [118, 9, 1],
    malformed: [],
  })
})

test('a stranger says nothing', () => {
  const unsaid = { within: undefined, criticality: undefined, cohort: undefined, standsFor: 1 }
  const nothing = { ...unsaid, attempt: 0, attempts: [], malformed: [] }
  expect(read(all, { trusted: false })).toEqual(nothing)
  expect(read({})).toEqual(nothing)
})

describe('where it stands in its class', () => {
  test.each([
    ['0', 0],
    ['127.99', 127.99],
    ['5.5', 5.5],
  ])('%s', (text, cohort) => {
    expect(read({ [names.cohort]: text })).toMatchObject({ cohort, malformed: [] })
    expect(read({ baggage: `user=ann,floodwall.cohort=${text}` }).cohort).toBe(cohort)
  })

  test.each(['128', '-1', '1e1', '17.423', '', 'ann', '017.42.1', ' 5'])('%j is no cohort', (text) => {
    expect(read({ [names.cohort]: text })).toMatchObject({ cohort: undefined, malformed: [names.cohort] })
  })

  test.each(['0', '101', '-5', '1.5', '', '9999'])('nobody stands for %j calls', (text) => {
    expect(read({ [names.standsFor]: text })).toMatchObject({ standsFor: 1, malformed: [names.standsFor] })
  })

  test('what is written is read, and stays in its cohort', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 128, maxExcluded: true, noNaN: true }), (cohort) => {
        const again = readCohort(writeCohort(cohort)) as number
        expect(Math.floor(again)).toBe(Math.floor(cohort))
        expect(cohort - again).toBeLessThan(0.011)
      }),
      { seed: 7 },
    )
  })
})

describe('criticality', () => {
  test.each([
    ['CRITICAL_PLUS', 'critical'],
    ['CRITICAL', 'critical'],
    ['SHEDDABLE_PLUS', 'sheddablePlus'],
    ['SHEDDABLE', 'sheddable'],
  ] as const)('%s', (text, read_) => {
    expect(read({ [names.criticality]: text }).criticality).toBe(read_)
  })

  test('the highest class is for who may', () => {
    expect(read({ [names.criticality]: 'CRITICAL_PLUS' }, { criticalPlus: true }).criticality).toBe('criticalPlus')
  })

  test.each(['critical', 'Critical', 'VIP', '', ' CRITICAL', 'CRITICAL,SHEDDABLE'])('%j is none', (text) => {
    expect(read({ [names.criticality]: text })).toMatchObject({
      criticality: undefined,
      malformed: [names.criticality],
    })
  })

  test('may come in baggage, where the header is not there', () => {
    const baggage = 'userId=alice, floodwall.criticality=SHEDDABLE;ttl=1'
    expect(read({ baggage }).criticality).toBe('sheddable')
    expect(read({ baggage, [names.criticality]: 'CRITICAL' }).criticality).toBe('critical')
    expect(read({ baggage: 'floodwall.criticality=nonsense' }).criticality).toBeUndefined()
  })
})

describe('attempts', () => {
  test.each(['-1', '1.5', '1000', 'x', '', '1,2'])('number %j makes no sense', (text) => {
    expect(read({ [names.attempt]: text })).toMatchObject({ attempt: 0, malformed: [names.attempt] })
  })

  test.each(['', ',', '1,', '1,-2', '1;2', '1,2,3,4,5,6,7,8,9', '12345678'])('counts %j make no sense', (text) => {
    expect(readAttempts(text)).toBeUndefined()
  })

  test('what is written is read, and is bounded', () => {
    expect(writeAttempts([118, 9, 1])).toBe('118,9,1')
    expect(writeAttempts([])).toBeUndefined()
    expect(writeAttempts([0, 0])).toBeUndefined()
    expect(writeAttempts([1, 0, 0])).toBe('1')
    expect(writeAttempts([1, 1, 1, 1, 1, 1, 1, 1, 1, 1])).toBe('1,1,1,1,1,1,1,3')
    fc.assert(
      fc.property(fc.array(fc.nat(2 ** 31), { maxLength: 20 }), (counts) => {
        const text = writeAttempts(counts)
        if (text !== undefined) expect(readAttempts(text)).toBeDefined()
      }),
      { seed: 6, numRuns: 1000 },
    )
  })
})

describe('baggage', () => {
  test('one key is read or set, the others stay as they are', () => {
    const header = 'a=1;p=q,b=%20x'
    expect(readBaggage(header, 'b')).toBe(' x')
    expect(readBaggage(header, 'c')).toBeUndefined()
    expect(writeBaggage(header, 'c', 'd e')).toBe('a=1;p=q,b=%20x,c=d%20e')
    expect(writeBaggage(header, 'a', '2')).toBe('b=%20x,a=2')
    expect(writeBaggage(undefined, 'a', '2')).toBe('a=2')
  })

  test('has bounds, and never throws', () => {
    expect(readBaggage(`a=1,${'b=2,'.repeat(5000)}`, 'a')).toBeUndefined()
    expect(writeBaggage('x'.repeat(8190), 'a', '1')).toBeUndefined()
    expect(readBaggage('a=%zz', 'a')).toBeUndefined()
    fc.assert(
      fc.property(fc.string(), (text) => {
        readBaggage(text, 'a')
      }),
      { seed: 6, numRuns: 2000 },
    )
  })
})

test('hostile values do nothing but count as malformed', () => {
  const hostile = ['0x10', '-1', '9'.repeat(30), 'NaN', 'Infinity', '1e9', '\0', 'é', '<script>', '1, 2']
  for (const name of [...new Set(controlHeaders)]) {
    for (const value of hostile) {
      const inbound = read({ [name]: value })
      expect(inbound.within === undefined || inbound.within <= 60_000, `${name}: ${value}`).toBe(true)
      expect(inbound.attempt).toBe(0)
      expect(inbound.criticality).toBeUndefined()
    }
    expect(read({ [name]: ['1', '1'] })).toMatchObject({ within: undefined, attempt: 0 })
  }
})
