import { describe, expect, test } from 'vitest'
import { requestAt, requestsIn, responseAt } from './strict.mjs'
import { canonical, caseIn } from './targets.mjs'

const get = 'GET / HTTP/1.1\r\nHost: x\r\n'

describe('a request by the letter', () => {
  test.each([
    ['a request', `${get}\r\n`, { method: 'GET', target: '/', body: '' }],
    ['empty lines before it', `\r\n\n\r\n${get}\r\n`, { method: 'GET', target: '/' }],
    ['a length', `${get}Content-Length: 3\r\n\r\nabcdef`, { body: 'abc' }],
    ['chunks', `${get}Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n`, { body: 'abcd' }],
    ['zeros before a length', `${get}Content-Length: 00000000000000000003\r\n\r\nabc`, { body: 'abc' }],
    [
      'zeros before the size of a chunk',
      `${get}Transfer-Encoding: chunked\r\n\r\n00000000000000003\r\nabc\r\n0\r\n\r\n`,
      { body: 'abc' },
    ],
    ['two lengths', `${get}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`, { wrong: expect.any(String) }],
    ['both', `${get}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, { wrong: expect.any(String) }],
    ['another coding', `${get}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, { wrong: expect.any(String) }],
    ['a folded line', `${get}X: a\r\n b\r\n\r\n`, { wrong: expect.any(String) }],
    ['a blank before the colon', `${get}X : a\r\n\r\n`, { wrong: expect.any(String) }],
    ['a bare LF', 'GET / HTTP/1.1\nHost: x\n\n', { wrong: expect.any(String) }],
    ['two hosts', `${get}Host: y\r\n\r\n`, { wrong: '2 hosts' }],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', { wrong: '0 hosts' }],
    ['no host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', { minor: 0, last: true }],
    [
      'a chunk that is longer',
      `${get}Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n`,
      { wrong: expect.any(String) },
    ],
    ['not yet', `${get}Content-Length: 3\r\n\r\nab`, { more: true }],
  ])('%s', (_name, text, expected) => {
    expect(requestAt(text, 0)).toMatchObject(expected)
  })
})

describe('a stream is the requests', () => {
  test('up to the one that is said to be the last', () => {
    const { requests, rest } = requestsIn(`${get}Content-Length: 2\r\n\r\nab${get}Connection: close\r\n\r\n${get}\r\n`)
    expect(requests.map(({ body }) => body)).toEqual(['ab', ''])
    expect(rest).toBe(`${get}\r\n`)
  })

  test('up to where it stops making sense', () => {
    expect(requestsIn(`${get}\r\nnonsense\r\n`)).toMatchObject({ requests: [{}], wrong: 'not a request line' })
  })

  test('behind an offer of another protocol, too, which need not be heard', () => {
    const { requests } = requestsIn(`${get}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n${get}\r\n`)
    expect(requests.map(({ upgrade }) => upgrade)).toEqual([true, false])
  })
})

test('answers end by length, chunks, status, method or connection', () => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  expect(responseAt(`${ok}Content-Length: 1\r\n\r\na`, 0, 'GET', false)).toMatchObject({ body: 'a' })
  expect(responseAt(`${ok}Content-Length: 9\r\n\r\na`, 0, 'GET', true)).toEqual({ more: true })
  expect(responseAt(`${ok}Content-Length: 9\r\n\r\n`, 0, 'HEAD', false)).toMatchObject({ status: 200 })
  expect(responseAt(`${ok}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`, 0, 'GET', false)).toMatchObject({
    body: 'a',
  })
  expect(responseAt(`${ok}\r\nabc`, 0, 'GET', false)).toEqual({ more: true })
  expect(responseAt(`${ok}\r\nabc`, 0, 'GET', true)).toMatchObject({ body: 'abc', byClose: true })
  expect(responseAt('HTTP/1.1 204 No\r\n\r\n', 0, 'GET', false)).toMatchObject({ status: 204 })
  expect(responseAt('HTTP/1.1 100 Go on\r\n\r\n', 0, 'GET', false)).toMatchObject({ interim: true })
})

describe('targets', () => {
  test.each([
    ['/a/%41/./b/../c?x=/../', '/a/A/c?x=/../'],
    ['http://evil.test/x', '/x'],
    ['/%2f/%2F', '/%2F/%2F'],
    ['/..', '/'],
  ])('%s is %s', (target, meant) => {
    expect(canonical(target)).toBe(meant)
  })

  test.each([
    ['/f/3-17-0?q=1', 17],
    ['GET /poison/3-17-0 HTTP/1.1', 17],
    ['X-Fuzz: 3-17-2', 17],
    ['/f/4-17-0', undefined],
    ['/f/3-', undefined],
  ])('%s is of case %s', (text, number) => {
    expect(caseIn(3, text)).toBe(number)
  })
})
