import { type IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { bulkhead, pipeline } from 'floodwall'
import { type Listener, protect } from 'floodwall/http'
import { describe, expect, test } from 'vitest'
import { leftIn, NOTHING } from '../core/fate.ts'
import { ask, oneConnection, raw, until } from './client.ts'
import { heard } from './frameworks.ts'
import { serving } from './serving.ts'

// When is an answer over? What was said in one and has gone whole is over when `end` returns; everything else when the response says so; and however
// somebody gets past the methods at which we listen, a slot comes back.

function house(listener: Listener, slots = 1) {
  const p = pipeline('door', [bulkhead({ slots })])
  const guard = protect(p, listener)
  return { p, guard, used: () => leftIn(undefined, p).used }
}

const LARGE = Buffer.alloc(16 * 1024 * 1024, 'x')

describe('an answer', () => {
  test('said in one is over when end returns: the slot is free, and the outcome is its status', async () => {
    const after: unknown[] = []
    const { p, guard, used } = house((_, response) => {
      response.statusCode = 503
      response.end('no')
      after.push(used(), guard.inspect()['running'], (p.inspect()['calls'] as { overload: number }).overload)
    })
    await using server = await serving(guard)
    expect((await ask({ port: server.port })).status).toBe(503)
    expect(after).toEqual([0, 0, 1])
    expect(leftIn(undefined, p)).toMatchObject(NOTHING)
  })

  test('said in one that the kernel does not take whole has its slot until it has gone', async () => {
    const { guard, used } = house((_, response) => void response.end(LARGE))
    await using server = await serving(guard)
    const slow = raw(server.port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    slow.socket.pause()
    await until(() => used() === 1)
    await sleep(30)
    expect([used(), (await ask({ port: server.port })).status]).toEqual([1, 503])
    slow.socket.resume()
    await until(() => used() === 0)
    slow.socket.destroy()
  })

  test.each(['at once', 'later'])(
    'whose head and end come in one breath, %s, is over when end returns',
    async (when) => {
      const seen: number[] = []
      const { p, guard, used } = house(async (_, response) => {
        if (when === 'later') await sleep(1)
        response.writeHead(503, { 'x-a': '1' })
        seen.push(used())
        response.end('no')
        seen.push(used())
      })
      await using server = await serving(guard)
      for (let i = 0; i < 3; i++) expect((await ask({ port: server.port })).body).toBe('no')
      expect([seen, p.inspect()['calls']]).toMatchObject([[1, 0, 1, 0, 1, 0], { overload: 3, refused: 0 }])
    },
  )

  test.each(['at once', 'later'])(
    'whose head comes alone, %s, is known, and has its slot until its end',
    async (when) => {
      const seen: unknown[] = []
      const { p, guard, used } = house(async (_, response) => {
        if (when === 'later') await sleep(1)
        response.writeHead(503)
        response.write('n')
        await null
        await null
        seen.push(used(), (p.inspect()['calls'] as { overload: number }).overload)
        await sleep(5)
        seen.push(used())
        response.end('o')
      })
      await using server = await serving(guard)
      expect((await ask({ port: server.port })).body).toBe('no')
      await until(() => used() === 0)
      expect(seen).toEqual([1, 1, 1])
    },
  )

  test('whose head came alone from a handler that throws then, or whose client leaves then, leaves nothing', async () => {
    const error = new Error('after the head')
    for (const then of ['throw', 'destroy'] as const) {
      const { p, guard, used } = house((_, response) => {
        response.writeHead(200)
        if (then === 'throw') throw error
        response.destroy()
      })
      await using server = await serving((...all) => void heard(guard, ...all).catch(() => {}))
      await ask({ port: server.port }).catch(() => {})
      await until(() => used() === 0)
      expect(p.inspect()['calls']).toMatchObject({ success: 1 })
    }
  })

  test.each([
    ['a code of HEAD', 'HEAD', (response: ServerResponse) => response.end('unsent')],
    ['an end without anything', 'GET', (response: ServerResponse) => response.end()],
    ['an end with a callback', 'GET', (response: ServerResponse) => response.end(() => {})],
    [
      'an end with bytes, coding and callback',
      'GET',
      (response: ServerResponse) => response.end('aGk=', 'base64', () => {}),
    ],
    ['an end twice', 'GET', (response: ServerResponse) => response.end('hi').end()],
    ['pieces', 'GET', (response: ServerResponse) => void (response.write('h'), response.end('i'))],
  ])('by %s is whole, and gives one slot back', async (_, method, say) => {
    const { p, guard, used } = house((_request, response) => void say(response))
    await using server = await serving(guard)
    const agent = oneConnection()
    for (let i = 0; i < 3; i++) {
      const { status, body } = await ask({ port: server.port, method, agent })
      expect([status, ['', 'hi'].includes(body)]).toEqual([200, true])
      await until(() => used() === 0)
    }
    expect(p.inspect()['calls']).toMatchObject({ success: 3, refused: 0 })
    agent.destroy()
  })

  test('that cannot be ended so is an error of its handler, who may try again', async () => {
    const seen: unknown[] = []
    const { p, guard, used } = house((_, response) => {
      try {
        response.end(5)
      } catch (error) {
        seen.push((error as { code: string }).code)
        response.end('five')
      }
    })
    await using server = await serving(guard)
    expect((await ask({ port: server.port })).body).toBe('five')
    await until(() => used() === 0)
    expect([seen, p.inspect()['calls']]).toMatchObject([['ERR_INVALID_ARG_TYPE'], { success: 1, failure: 0 }])
  })

  test('that somebody in between keeps back is over when he lets it go', async () => {
    let letGo = () => {}
    const { guard, used } = house((_, response) => void response.end('kept'))
    // As one who compresses: the head at once, the end when all is packed.
    const between: Listener = (request, response) => {
      const own = response.end
      response.end = ((chunk: string) => {
        response.writeHead(200)
        letGo = () => void own.call(response, chunk, 'utf8')
        return response
      }) as typeof own
      guard(request, response)
    }
    await using server = await serving(between as never)
    const answer = ask({ port: server.port })
    await until(() => used() === 1)
    await sleep(20)
    expect(used()).toBe(1)
    letGo()
    expect((await answer).body).toBe('kept')
    await until(() => used() === 0)
  })

  test('that is asked for later goes through whoever has put himself before it', async () => {
    const heads: unknown[] = []
    const { p, guard } = house((_, response) => {
      const own = response.writeHead
      response.writeHead = function head(this: ServerResponse, ...args: unknown[]) {
        heads.push(args.length)
        this.setHeader('x-late', '1')
        return Reflect.apply(own, this, args)
      } as typeof own
      response.end('yes')
    })
    await using server = await serving(guard)
    expect((await ask({ port: server.port })).headers['x-late']).toBe('1')
    expect([heads, p.inspect()['calls']]).toMatchObject([[1], { success: 1 }])
  })
})

describe('past the methods of the response', () => {
  const { end, writeHead } = ServerResponse.prototype

  test('an end gives the slot back', async () => {
    const { p, guard, used } = house((_, response) => void Reflect.apply(end, response, ['past']))
    await using server = await serving(guard)
    expect((await ask({ port: server.port })).body).toBe('past')
    await until(() => used() === 0)
    expect(p.inspect()['calls']).toMatchObject({ success: 1 })
  })

  test('a head and an end give it back with the next request of the connection, or with its end', async () => {
    const past: Listener = (_, response) => {
      Reflect.apply(writeHead, response, [200])
      Reflect.apply(end, response, ['past'])
    }
    const { guard, used } = house(past)
    await using server = await serving(guard)
    const agent = oneConnection()
    for (let i = 0; i < 3; i++) expect((await ask({ port: server.port, agent })).body).toBe('past')
    expect(used()).toBe(1)
    agent.destroy()
    await until(() => used() === 0)
  })
})

test('an edge within another one hears the same answer, and each gives its own slot back', async () => {
  const [outer, inner] = [pipeline('outer', [bulkhead({ slots: 1 })]), pipeline('inner', [bulkhead({ slots: 1 })])]
  const within = protect(inner, (_, response) => void response.end('both'))
  const guard = protect(outer, (request: IncomingMessage, response) => {
    within(request, response)
  })
  await using server = await serving(guard)
  const agent = oneConnection()
  for (let i = 0; i < 3; i++) expect((await ask({ port: server.port, agent })).body).toBe('both')
  agent.destroy()
  await until(() => leftIn(undefined, inner).used + leftIn(undefined, outer).used === 0)
  expect([outer.inspect()['calls'], inner.inspect()['calls']]).toMatchObject([{ success: 3 }, { success: 3 }])
})

test('requests that come before their answers are answered in order, and leave nothing', async () => {
  let count = 0
  const { p, guard, used } = house((_, response) => void response.end(String(count++)), 8)
  await using server = await serving(guard)
  const { socket, text } = raw(server.port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(5))
  await until(() => (text().match(/HTTP\/1\.1 200/g) ?? []).length === 5)
  expect(
    text()
      .match(/\r\n\r\n\d/g)
      ?.map((one) => one.trim()),
  ).toEqual(['0', '1', '2', '3', '4'])
  await until(() => used() === 0)
  expect(p.inspect()['calls']).toMatchObject({ success: 5 })
  socket.destroy()
})
