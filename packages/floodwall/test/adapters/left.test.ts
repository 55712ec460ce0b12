import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { bulkhead, type Pipeline, pipeline } from 'floodwall'
import * as forExpress from 'floodwall/express'
import { type HttpOptions, type Listener, protect } from 'floodwall/http'
import type { ServerOptions } from 'floodwall/server'
import { describe, expect, test } from 'vitest'
import { leftIn } from '../core/fate.ts'
import { ask, asking, until } from './client.ts'
import { frameworks } from './frameworks.ts'
import { serving } from './serving.ts'

// The client has left, and the handler goes on, as most do: the outcome is told at once, the slot comes back when the work has ended.

const used = (p: Pipeline) => leftIn(undefined, p).used
const ignored = (p: Pipeline) => (p.inspect()['calls'] as { ignored: number }).ignored
const door = () => pipeline('door', [bulkhead({ slots: 1 })])

function latch(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

/** The outcome was told, and the slot is taken all the same. */
async function heldAfterLeaving(p: Pipeline, port: number, begun: () => boolean): Promise<void> {
  const { sent } = asking({ port })
  await until(begun)
  sent.destroy()
  await until(() => ignored(p) === 1)
  expect(used(p)).toBe(1)
  expect((await ask({ port })).status).toBe(503)
}

describe.each(frameworks)('%s', (_, start) => {
  test.each(['answers', 'throws'])('a handler that %s later, for nobody, has its slot until then', async (how) => {
    const p = door()
    const [begun, end] = [latch(), latch()]
    let has = false
    await using server = await start(p, async () => {
      has = true
      begun.open()
      await end.opened
      if (how === 'throws') throw new Error('late')
      return { status: 201, headers: { 'x-late': 'yes' }, body: 'late' }
    })
    await heldAfterLeaving(p, server.port, () => has)
    expect(server.guard.inspect()).toMatchObject({ running: 1, abandoned: 1, lapsed: 0 })
    end.open()
    await until(() => used(p) === 0)
    expect(server.guard.inspect()).toMatchObject({ running: 0, abandoned: 0, lapsed: 0 })
    expect((await ask({ port: server.port })).status).toBe(how === 'throws' ? 500 : 201)
  })

  test('a handler that ends nothing gives its slot back after a while, and that is told and counted', async () => {
    const p = door()
    const told: string[] = []
    using _on = p.on((event) => void (event.type === 'lapsed' && told.push(event.why)))
    let has = false
    const limits = { leftAtMost: 400, abandonedAtMost: 400 }
    await using server = await start(p, () => ((has = true), new Promise<never>(() => {})), limits)
    await heldAfterLeaving(p, server.port, () => has)
    await until(() => used(p) === 0)
    expect(told).toEqual(['a handler went on for 400 ms after its client had left'])
    expect(server.guard.inspect()).toMatchObject({ running: 0, abandoned: 0, lapsed: 1 })
  })
})

interface App {
  (request: IncomingMessage, response: ServerResponse): void
  use(...handlers: unknown[]): void
}
const require = createRequire(import.meta.url)
type Callback = (request: IncomingMessage, response: ServerResponse) => unknown

/** Handlers with callbacks, which promise nothing. */
const callbacks: readonly (readonly [string, (p: Pipeline, handler: Callback, o?: object) => RequestListener])[] = [
  [
    'node:http',
    (p, handler, options) => protect(p, ((...all) => void handler(all[0], all[1])) as Listener, options as HttpOptions),
  ],
  ...(['express4', 'express'] as const).map(
    (name) =>
      [
        name,
        (p: Pipeline, handler: Callback, options?: object) => {
          const app = (require(name) as () => App)()
          app.use(forExpress.protect(p, options as ServerOptions<IncomingMessage>))
          app.use((request: IncomingMessage, response: ServerResponse) => void handler(request, response))
          return app
        },
      ] as const,
  ),
]

describe.each(callbacks)('callbacks, %s', (_, listen) => {
  test.each<[string, (response: ServerResponse) => unknown]>([
    ['ends its answer', (response) => response.end('late')],
    ['destroys it', (response) => response.destroy()],
    ['writes a head and a body', (response) => response.writeHead(200, { 'x-late': 'yes' }).end('late')],
  ])('a handler that %s, for nobody, has its slot until then', async (_how, late) => {
    const p = door()
    let response: ServerResponse | undefined
    await using server = await serving(listen(p, (_request, to) => (response = to)))
    await heldAfterLeaving(p, server.port, () => response !== undefined)
    late(response as ServerResponse)
    // At once, in this very turn.
    expect(used(p)).toBe(0)
  })

  test('a handler that ends its answer when it hears that it is to stop gives its slot back at once', async () => {
    const p = door()
    let has = false
    await using server = await serving(
      listen(p, (request, response) => {
        has = true
        forExpress.callOf(request)?.signal.addEventListener('abort', () => response.end())
      }),
    )
    const { sent } = asking({ port: server.port })
    await until(() => has)
    sent.destroy()
    await until(() => ignored(p) === 1)
    expect(used(p)).toBe(0)
  })

  test('a stream whose client leaves gives its slot back with the connection: it ends nothing, and listens to that', async () => {
    const p = door()
    await using server = await serving(listen(p, (_request, response) => response.writeHead(200).write('event')))
    const { sent } = asking({ port: server.port })
    await until(() => (p.inspect()['calls'] as { success: number }).success === 1)
    expect(used(p)).toBe(1)
    sent.destroy()
    await until(() => used(p) === 0)
  })
})

describe('node:http', () => {
  test('a stream that a promise stands for has its slot until that, and nobody hears of what it throws then', async () => {
    for (const broken of [false, true]) {
      const p = door()
      const end = latch()
      const guard = protect(p, async (_, response) => {
        response.writeHead(200).write('half')
        await end.opened
        if (broken) throw new Error('late')
        response.end('whole')
      })
      await using server = await serving(guard)
      const { sent } = asking({ port: server.port })
      await until(() => (p.inspect()['calls'] as { success: number }).success === 1)
      sent.destroy()
      await until(() => guard.inspect()['abandoned'] === 1)
      // Who drains has nobody left to answer.
      expect([used(p), guard.inspect()['running']]).toEqual([1, 0])
      end.open()
      await until(() => used(p) === 0)
      expect(guard.inspect()['abandoned']).toBe(0)
    }
  })

  test('200 clients that leave handlers of every kind leave nothing', async () => {
    const p = pipeline('door', [bulkhead({ slots: 300 })])
    let n = 0
    const guard = protect(
      p,
      (_, response) => {
        const kind = n++ % 4
        if (kind === 0) return void setTimeout(() => response.end('late'), n % 7)
        if (kind === 1) return new Promise((resolve) => setTimeout(resolve, n % 7))
        if (kind === 2) return Promise.resolve()
        return undefined
      },
      { leftAtMost: 20 },
    )
    await using server = await serving(guard)
    for (let i = 0; i < 200; i++) {
      const { sent } = asking({ port: server.port })
      setTimeout(() => sent.destroy(), i % 11)
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await until(() => n > 0 && used(p) === 0 && guard.inspect()['running'] === 0)
    expect(guard.inspect()['abandoned']).toBe(0)
    await guard.close()
  })
})
