import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { silence } from '../../src/server/silence.ts'

/** A response that was answered and silenced; what arrives at the client; how often its end was told. */
async function silenced(late: (response: ServerResponse) => unknown): Promise<{ body: string; ended: number }> {
  let ended = 0
  let over: unknown
  const server = createServer((_, response) => {
    response.writeHead(504, { 'x-first': 'yes' }).end('first')
    silence(response, () => ended++)
    over = late(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const body = `${answer.status} ${answer.headers.get('x-first')} ${answer.headers.get('x-late')} ${await answer.text()}`
  await over
  server.closeAllConnections()
  server.close()
  return { body, ended }
}

/** A stream that has something to say and is piped into `response`. */
function piped(response: ServerResponse): Readable {
  const source = new Readable({ read() {} })
  source.push('late')
  source.pipe(response)
  return source
}

const FIRST = '504 yes null first'

test.each<[string, (response: ServerResponse) => unknown, number]>([
  ['a whole answer', (r) => r.writeHead(200, { 'x-late': '1' }).end('late'), 1],
  ['headers one by one', (r) => r.setHeader('x-late', '1').appendHeader('x-late', '2').flushHeaders(), 0],
  ['an end twice', (r) => r.end().end('again'), 1],
  ['a destroyed response', (r) => r.destroy(new Error('late')), 1],
  ['early hints', (r) => r.writeEarlyHints({ link: '</a>; rel=preload' }), 0],
  ['trailers', (r) => r.addTrailers({ 'x-late': '1' }), 0],
  ['a removed header', (r) => r.removeHeader('x-first'), 0],
  ['an end that calls back', (r) => new Promise<void>((resolve) => r.end('late', () => resolve())), 1],
  ['a write that calls back', (r) => new Promise<void>((resolve) => void r.write('late', () => resolve())), 0],
  [
    'a stream',
    (r) =>
      once(
        Readable.from(['a', 'b', 'c'])
          .on('data', (chunk) => r.write(chunk))
          .on('end', () => r.end()),
        'end',
      ),
    1,
  ],
  ['a piped stream', (r) => once(piped(r), 'close'), 1],
  ['a pipeline', (r) => pipe(Readable.from(['a', 'b']), r).catch(() => {}), 1],
])('%s goes nowhere', async (_, late, ends) => {
  const { body, ended } = await silenced(late)
  expect([body, ended]).toEqual([FIRST, ends])
})

test('a stream that was piped before, and had said nothing yet, is thrown away', async () => {
  let source: Readable | undefined
  let ended = 0
  const server = createServer((_, response) => {
    source = new Readable({ read() {} })
    source.pipe(response)
    response.writeHead(504).end('first')
    silence(response, () => ended++)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text()
  if (source?.destroyed !== true) await once(source as Readable, 'close')
  server.closeAllConnections()
  server.close()
  expect(ended).toBe(1)
})

test('looks as if nothing had been written, until it is ended', async () => {
  const seen: boolean[] = []
  await silenced((r) => {
    seen.push(r.headersSent, r.writableEnded)
    r.end()
    seen.push(r.headersSent, r.writableEnded)
  })
  expect(seen).toEqual([false, false, false, true])
})
