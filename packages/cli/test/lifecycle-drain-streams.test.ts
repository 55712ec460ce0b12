import { once } from 'node:events'
import { WebSocket } from 'undici'
import { expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'
import { echo } from './support/websocket.ts'

// C39: what lasts by its nature.

const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

/** How long it took from one line of the log to another. */
function between(log: readonly Record<string, unknown>[], from: string, to: string): number {
  const at = (msg: string): number => Number(new Date(String(log.find((line) => line['msg'] === msg)?.['time'])))
  return at(to) - at(from)
}

test('C39: a WebSocket is told to go after the delay; a stream of events lives until the grace is over, and its cut looks like none of its ends', async () => {
  const origin = await startOrigin(
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write('data: x\n\n'), 50)
      response.on('close', () => clearInterval(timer))
    },
    0,
    echo,
  )
  const config = { layers: [], endpoint: [], drain: '4s', drainDelay: '1s' }
  const gateway = await startGateway({ upstreams: [origin.port], config })
  const stream = await wire(gateway.port, get)
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/`)
  await once(socket, 'open')
  await until(() => stream.text.includes('data: x'))
  const closed = once(socket, 'close') as Promise<[{ code: number }]>
  gateway.cli.kill('SIGTERM')
  await until(async () => (await gateway.admin('/readyz')).status === 503)
  // Within the delay it works.
  socket.send('still here')
  expect(((await once(socket, 'message')) as [{ data: unknown }])[0].data).toBe('still here')
  expect((await closed)[0].code).toBe(1001)
  const { length } = stream.text
  await until(() => stream.text.length > length)
  expect((await gateway.cli.finished()).code).toBe(1)
  await until(() => stream.closed && origin.sockets.size === 0)
  expect(stream.text).not.toMatch(/0\r\n\r\n$/)
  // The bound is generous: a machine with much to do is late. It hangs for no reason of its own.
  expect(between(gateway.log, 'stopping', 'stopped')).toBeLessThan(4000 + 3000)
})

test('C39: with nothing open it ends soon after the delay, however long it might take', async () => {
  const origin = await startOrigin()
  const config = { drain: '1h', drainDelay: '100ms' }
  const gateway = await startGateway({ upstreams: [origin.port], config })
  gateway.cli.kill('SIGTERM')
  expect((await gateway.cli.finished()).code).toBe(0)
  expect(between(gateway.log, 'stopping', 'stopped')).toBeLessThan(3000)
})
