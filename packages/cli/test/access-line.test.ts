import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry } from '../src/gateway/access/entry.ts'
import { writers } from '../src/gateway/access/formats.ts'

// The JSON of a line is put together by hand: a reader must get back what was written, whatever it was.

const words = fc.string({ unit: 'binary', maxLength: 40 })

const entries: fc.Arbitrary<Entry> = fc.record({
  at: fc.double({ min: 0, max: 4e12, noNaN: true }),
  id: words,
  trace: words,
  client: words,
  method: words,
  target: words,
  version: fc.constantFrom('1.0', '1.1'),
  host: words,
  referrer: words,
  agent: words,
  route: words,
  upstream: words,
  attempts: fc.nat(),
  status: fc.nat(999),
  sentBytes: fc.nat(),
  code: words,
  cut: fc.boolean(),
  tookMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
})

/** Without the fields that say nothing. */
function shown({ at, tookMs, sentBytes, target, referrer, agent, trace, upstream, code, cut, ...rest }: Entry): object {
  const given = { trace, referrer, agent, upstream, code, cut }
  return {
    ...rest,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '' && value !== false)),
    time: new Date(at).toISOString(),
    target,
    bytes: sentBytes,
    ms: Math.round(tookMs * 100) / 100,
  }
}

test('every entry can be read back from its line of JSON', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      const line = writers.json(entry, true)
      expect(line).not.toMatch(/[\n\r]/)
      // As a reader compares: a 0 has no sign.
      expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(shown(entry))))
    }),
  )
})
