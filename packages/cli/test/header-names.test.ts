import { describe, expect, test } from 'vitest'
import {
  DROP,
  HeaderNames,
  namedBy,
  PASS,
  removeNamed,
  requestNames,
  responseNames,
} from '../src/gateway/heads/header-names.ts'

const special = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'content-length'],
]
const forwarding = ['forwarded', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-', `x-forwarded-${'x'.repeat(100)}`]

/** As written by the polite, by the loud and by the odd. */
function spellingsOf(name: string): string[] {
  const odd = [...name].map((letter, i) => (i % 2 === 0 ? letter.toUpperCase() : letter)).join('')
  return [name, name.toUpperCase(), odd, name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())]
}

describe('roles of header lines', () => {
  test.each([...special, 'host', 'expect', ...forwarding].flatMap(spellingsOf))('%s has one in requests', (name) => {
    expect(requestNames.role(name)).not.toBe(PASS)
  })

  test.each(special.flatMap(spellingsOf))('%s has one in responses', (name) => {
    expect(responseNames.role(name)).not.toBe(PASS)
  })

  test.each([
    'accept',
    'connectio',
    'connection2',
    'kept-alive',
    'x-forwarded',
    'x-forwardedfor',
    'tee',
    't',
    '',
    'é',
    '\u{1f600}',
  ])('%j has none', (name) => expect(requestNames.role(name)).toBe(PASS))

  test('what strangers invent is not remembered without end, and displaces nothing', () => {
    const names = new HeaderNames([['x-ours', DROP]], [['x-', DROP]])
    for (let i = 0; i < 100_000; i++) names.role(`x-invented-${i}`)
    expect((Reflect.get(names, 'spellings') as Map<string, number>).size).toBeLessThanOrEqual(1024)
    expect([names.role('X-Ours'), names.role('x-oURS'), names.role('X-another'), names.role('Y-ours')]).toEqual([
      DROP,
      DROP,
      DROP,
      PASS,
    ])
  })
})

describe('what Connection names', () => {
  test.each([
    ['keep-alive', []],
    ['close', []],
    ['Keep-Alive, X-A ,x-b,', ['keep-alive', 'x-a', 'x-b', '']],
  ])('%s', (value, names) => {
    expect([...(namedBy(value, null) ?? [])]).toEqual(names)
  })

  test('goes, but for what frames the message', () => {
    const lines = ['X-A', '1', 'Content-Length', '3', 'te', 'trailers', 'x-B', '2', 'Keep', 'me']
    removeNamed(lines, new Set(['x-a', 'x-b', 'content-length', 'te', 'host']))
    expect(lines).toEqual(['Content-Length', '3', 'te', 'trailers', 'Keep', 'me'])
  })
})
