import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// Refused, and with the status that says why.

let origin: Origin
let gateway: Gateway

beforeAll(async () => {
  origin = await startOrigin()
  gateway = await startGateway({ upstreams: [origin.port], config: { layers: [], endpoint: [] } })
})

/** In pieces, each in a packet of its own. */
async function statuses(...pieces: string[]): Promise<number[]> {
  const line = await wire(gateway.port)
  for (const piece of pieces) {
    line.write(piece)
    await pause(50)
  }
  await until(() => line.closed)
  return line.statuses
}

const long = 'a'.repeat(20_000)
const host = 'Host: x\r\n'
const get = `GET / HTTP/1.1\r\n${host}\r\n`

describe('a head that is too long', () => {
  test.each([
    ['its target', [`GET /${long} HTTP/1.1\r\n${host}\r\n`]],
    ['its target, without an end', [`GET /${long}`]],
    ['its target, in two packets', [`GET /${long.slice(0, 9000)}`, `${long} HTTP/1.1\r\n${host}\r\n`]],
    ['its target, in whole form', [`GET http://x/${long} HTTP/1.1\r\n${host}\r\n`]],
    ['its query, behind another method', [`PROPFIND /?${long} HTTP/1.1\r\n${host}\r\n`]],
  ])('%s: 414', async (_name, pieces) => {
    expect(await statuses(...pieces)).toEqual([414])
  })

  test('its target, behind another request: each has its own', async () => {
    expect(await statuses(`${get}GET /${long} HTTP/1.1\r\n${host}\r\n`)).toEqual([200, 414])
  })

  test.each([
    ['a field', [`GET / HTTP/1.1\r\n${host}Cookie: ${long}\r\n\r\n`]],
    [
      'a field, in two packets',
      [`GET / HTTP/1.1\r\n${host}Cookie: a=b; c=${long.slice(0, 9000)}`, `; d=${long}\r\n\r\n`],
    ],
    ['many fields', [`GET / HTTP/1.1\r\n${host}${'A: bbbbbbbbbbbbbbbbbbbbbbb\r\n'.repeat(1000)}\r\n`]],
    ['the name of a field', [`GET / HTTP/1.1\r\n${host}${long}: x\r\n\r\n`]],
  ])('%s: 431', async (_name, pieces) => {
    expect(await statuses(...pieces)).toEqual([431])
  })
})

describe('a protocol that is not HTTP', () => {
  test.each([
    'GET /x RTSP/1.0',
    'OPTIONS /x RTSP/1.0',
    'OPTIONS * RTSP/1.0',
    'DESCRIBE rtsp://x/y RTSP/1.0',
    'OPTIONS /x RTSP/2.0',
  ])('%s: 505, and the server is not asked', async (line) => {
    const seen = origin.seen.length
    expect(await statuses(`${line}\r\n${host}CSeq: 1\r\n\r\n`)).toEqual([505])
    expect(origin.seen.length).toBe(seen)
  })

  test.each(['SOURCE /x ICE/1.0', 'GET /x HTTP/3.0', 'GET /x HTTPS/1.1', 'GET /x SIP/2.0'])(
    '%s: refused',
    async (line) => {
      const seen = origin.seen.length
      expect([400, 501, 505]).toContain((await statuses(`${line}\r\n${host}\r\n`))[0])
      expect(origin.seen.length).toBe(seen)
    },
  )

  test('HTTP/1.0 is, whatever its target says', async () => {
    expect(await statuses(`GET /x HTTP/1.0\r\n${host}\r\n`)).toEqual([200])
    expect(await statuses(`GET /RTSP/1.0 HTTP/1.0\r\n${host}\r\n`)).toEqual([200])
  })
})
