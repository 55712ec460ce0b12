import { describe, expect, test } from 'vitest'
import { answerTo } from './answers.mjs'
import type { Case } from './cases.mjs'
import { Growth } from './growth.mjs'
import { Ledger } from './ledger.mjs'
import { type Request, requestsIn } from './strict.mjs'

/** Targets whose answers are whole, in one piece and nothing special, so that tests can say what comes back. */
const plain = Array.from({ length: 200 }, (_, i) => `/f/1-0-${i}`).filter((target) => {
  const { bytes, whole } = answerTo({ method: 'GET', target, body: '', upgrade: false })
  return whole && /^HTTP\/1\.1 200 OK\r\nX-Echo: \S+\r\nContent-Length: \d+\r\n\r\nanswer to \S+ r+$/.test(bytes)
})
const [one = '', two = ''] = plain

const get = (target: string, lines = ''): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${lines}\r\n`
const answer = (target: string): string => answerTo({ method: 'GET', target, body: '', upgrade: false }).bytes

/** A case of these bytes, number 0. */
function caseOf(text: string): Case {
  return { number: 0, clean: true, text, cuts: [], pauseMs: 0, leavesAt: -1, halfClose: false, resets: false }
}

function requestOf(text: string): Request {
  return requestsIn(text).requests[0] as Request
}

describe('of what the upstream saw it finds', () => {
  /** The kinds, after the client has sent `sent` and the upstream has seen `seen`. */
  function kinds(sent: string, ...seen: string[]): string[] {
    const ledger = new Ledger(1)
    ledger.open(caseOf(sent))
    for (const text of seen) ledger.seen(requestOf(text))
    return ledger.findings.map(({ kind }) => kind)
  }

  test('nothing when it is what was sent, in other words', () => {
    expect(kinds(get('/f/1-0-0/a/../b'), get('/f/1-0-0/b'))).toEqual([])
  })

  test('what no client has sent', () => {
    const ledger = new Ledger(1)
    ledger.seen(requestOf(get('/poison/1-23-0')))
    expect(ledger.findings).toMatchObject([{ kind: 'smuggled', case: 23 }])
  })

  test('what is behind the last request', () => {
    expect(kinds(get('/a', 'Connection: close\r\n') + get('/b'), get('/b'))).toEqual(['smuggled'])
  })

  test('a POST that was sent again; a GET may be', () => {
    const post = 'POST /a HTTP/1.1\r\nHost: x\r\n\r\n'
    expect(kinds(post, post, post)).toEqual(['twice'])
    expect(kinds(post + post, post, post)).toEqual([])
    expect(kinds(get('/a'), get('/a'), get('/a'))).toEqual([])
  })

  test('lines that are for one connection only; an upgrade where it was asked for', () => {
    const upgrade = get('/a', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')
    expect(kinds(get('/a'), get('/a', 'Keep-Alive: 5\r\n'))).toEqual(['hop-by-hop'])
    expect(kinds(get('/a'), upgrade)).toEqual(['hop-by-hop'])
    expect(kinds(upgrade, upgrade)).toEqual([])
  })

  test('what makes no sense', () => {
    const ledger = new Ledger(1)
    ledger.wrong('a bare LF', 'GET /f/1-9-0 HTTP/1.1\n\n')
    expect(ledger.findings).toMatchObject([{ kind: 'malformed', case: 9 }])
  })
})

describe('of what the client heard it finds', () => {
  /** The kinds, when `heard` is the answer to the bytes `sent`. */
  function kinds(sent: string, heard: string, how: Partial<Case & { closed: boolean; reset: boolean }> = {}): string[] {
    const ledger = new Ledger(1)
    const played = { ...caseOf(sent), ...how }
    ledger.heard(played, ledger.open(played), { text: heard, closed: false, reset: false, ...how })
    return ledger.findings.map(({ kind }) => kind)
  }
  const own = 'HTTP/1.1 501 No\r\nContent-Type: application/problem+json\r\nContent-Length: 0\r\n'

  test('nothing when all is well', () => {
    expect(kinds(get(one) + get(two), answer(one) + answer(two))).toEqual([])
    expect(kinds(get(one) + get(two), `${answer(one)}${own}\r\n`)).toEqual([])
    expect(kinds(get(one) + get(two), `${own}Connection: close\r\n\r\n`, { closed: true })).toEqual([])
  })

  test('the answer to another request', () => {
    expect(kinds(get(one) + get(two), answer(two) + answer(one))).toEqual(['mixed up', 'mixed up'])
    expect(kinds(get(one), 'HTTP/1.1 200 OK\r\nX-Echo: poison\r\nContent-Length: 0\r\n\r\n')).toEqual(['mixed up'])
  })

  test('an answer to nothing, or too many', () => {
    expect(kinds(get(one), answer(one) + answer(one))).toEqual(['answers'])
    const last = answer(one).replace('\r\n', '\r\nConnection: close\r\n')
    expect(kinds(get(one) + get(two), last + answer(two))).toEqual(['answers'])
  })

  test('another status or body', () => {
    expect(kinds(get(one), answer(one).replace('200', '202'))).toEqual(['changed'])
    expect(kinds(get(one), `${answer(one).slice(0, -1)}s`)).toEqual(['changed'])
  })

  test('half an answer that looks whole', () => {
    const half = Array.from({ length: 200 }, (_, i) => `/f/1-1-${i}`).find((target) => {
      const { bytes, whole } = answerTo({ method: 'GET', target, body: '', upgrade: false })
      return !whole && bytes.endsWith('5\r\nabcde\r\n')
    }) as string
    expect(kinds(get(half), answer(half))).toEqual(['silence'])
    expect(kinds(get(half), answer(half), { closed: true })).toEqual([])
    expect(kinds(get(half), `${answer(half)}0\r\n\r\n`)).toEqual(['half'])
  })

  test('what is no answer', () => {
    expect(kinds(get(one), 'nonsense\r\n')).toEqual(['answer'])
    expect(kinds(get(one), `HTTP/1.1 101 Ok\r\n\r\n${answer(one)}`)).toEqual(['answer'])
    expect(kinds(get(one), 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')).toEqual(['answer'])
  })

  test('what an HTTP/1.0 client would not understand', () => {
    const old = `GET ${one} HTTP/1.0\r\n\r\n`
    const text = answer(one).slice(answer(one).indexOf('answer to'))
    const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    const chunked = answer(one).replace(/Content-Length[^]*/, `Transfer-Encoding: chunked\r\n\r\n${chunks}`)
    expect(kinds(old, answer(one))).toEqual([])
    expect(kinds(old, chunked)).toEqual(['answer'])
    expect(kinds(get(one), chunked)).toEqual([])
    expect(kinds(old, `HTTP/1.1 100 Go on\r\n\r\n${answer(one)}`)).toEqual(['answer'])
  })

  test('no answer, where one is due', () => {
    expect(kinds(get(one) + get(two), answer(one))).toEqual(['silence'])
    expect(kinds(get(one) + get(two), answer(one), { closed: true })).toEqual(['dropped'])
    expect(kinds(get(one) + get(two), answer(one), { closed: true, halfClose: true })).toEqual([])
    expect(kinds(get(one) + get(two), answer(one), { leavesAt: 9 })).toEqual([])
    expect(kinds(get(one) + get(two), answer(one), { clean: false })).toEqual([])
  })
})

describe('growth', () => {
  async function leaks(...looks: readonly (readonly [fds: number, rssMiB: number])[]): Promise<number> {
    const growth = new Growth(() => Promise.resolve())
    for (const [fds, rssMiB] of looks) await growth.look(() => ({ fds, rssMiB }))
    return growth.leaks.length
  }

  test('is found between two looks', async () => {
    expect(await leaks([20, 100])).toBe(0)
    expect(await leaks([20, 100], [20, 160])).toBe(0)
    expect(await leaks([20, 100], [20, 170])).toBe(1)
  })

  test('of descriptors, when it does not go away', async () => {
    const growth = new Growth(() => Promise.resolve())
    let fds = 20
    const held = () => ({ fds: fds > 20 ? fds-- : 20, rssMiB: 1 })
    await growth.look(held)
    fds = 24
    await growth.look(held)
    expect(growth.leaks).toEqual([])
    expect(growth.summary).toContain('descriptors 20 and 20')
  })
})
