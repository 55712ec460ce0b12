import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// A connection that is closed on data that nobody has read is reset, and its client loses the answers that it has not read yet.

const get = (more = ''): string => `GET / HTTP/1.1\r\nHost: x\r\n${more}\r\n`

test.each([
  ['a request that was said to be the last', get('Connection: close\r\n'), [200, 200]],
  ['one that is refused', get('Host: y\r\n'), [200, 400]],
  ['none at all', 'none at all\r\n\r\n', [200, 400]],
])('what comes behind %s costs no answer', async (_what, last, statuses) => {
  const answers: (() => void)[] = []
  const origin = await startOrigin((_request, response) => void answers.push(() => response.end('x')))
  const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [], endpoint: [] } })
  const line = await wire(gateway.port, get() + last)
  line.socket.pause()
  await until(() => answers.length === statuses.filter((status) => status === 200).length)
  const more = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      line.write('y'.repeat(5000))
      await pause(5)
    }
  }
  await more()
  for (const answer of answers) answer()
  await more()
  line.socket.resume()
  await until(() => line.closed)
  expect(line.statuses).toEqual(statuses)
  await gateway.quiet()
})
