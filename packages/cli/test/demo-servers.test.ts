import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { Balancer } from '../src/demo/balancer.ts'
import { factsOf } from '../src/demo/facts.ts'
import { CAPACITY, Workers } from '../src/demo/workers.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a server carries what its workers can, and a second of too much makes a line of a second', () => {
  vi.useFakeTimers()
  const workers = new Workers()
  let done = 0
  let accepted = 0
  const flood = (): void => {
    if (workers.take(() => done++)) accepted++
  }
  const timer = setInterval(flood, 500 / CAPACITY)
  vi.advanceTimersByTime(1_000)
  clearInterval(timer)
  expect(accepted).toBe(2 * CAPACITY)
  expect(done).toBeGreaterThan(0.85 * CAPACITY)
  expect(done).toBeLessThan(1.05 * CAPACITY)
  vi.advanceTimersByTime(1_200)
  expect(done).toBe(accepted)
})

test('a line that is full takes nobody, and who dies forgets it', () => {
  vi.useFakeTimers()
  const workers = new Workers()
  let done = 0
  let accepted = 0
  while (workers.take(() => done++)) accepted++
  expect(accepted).toBeGreaterThan(2 * CAPACITY)
  workers.die()
  vi.advanceTimersByTime(60_000)
  expect(done).toBe(0)
  expect(workers.take(() => done++)).toBe(true)
})

async function listening(port = 0): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

test('the plain balancer asks in turn, and leaves out who refuses until it is back', async () => {
  const [a, b] = await Promise.all([listening(), listening()])
  const origin = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [first, second] = [origin(a), origin(b)]
  const balancer = new Balancer([first, second], 20)
  const three = (): Set<string> => new Set([balancer.next(), balancer.next(), balancer.next()])
  expect(three()).toEqual(new Set([first, second]))
  b.close()
  await vi.waitFor(() => expect(balancer.leftOut).toEqual([false, true]), 5_000)
  expect(three()).toEqual(new Set([first]))
  a.close()
  await vi.waitFor(() => expect(balancer.leftOut).toEqual([true, true]), 5_000)
  // Somebody may be back.
  expect(three()).toEqual(new Set([first, second]))
  const again = await listening(Number(new URL(first).port))
  await vi.waitFor(() => expect(balancer.leftOut).toEqual([false, true]), 5_000)
  expect(three()).toEqual(new Set([first]))
  again.close()
})

test('what the gateway shows of itself', () => {
  const breaker = { kind: 'breaker', sinceMs: 12, probeInMs: 340, opened: 2 }
  const cluster = {
    kind: 'cluster',
    endpoints: [{ kind: 'endpoint', id: '127.0.0.1:1', state: 'open', attempts: 7, breaker }],
    recovering: true,
    keepShare: 0.25,
  }
  const layers = [
    { kind: 'retry', retries: 5 },
    { kind: 'balance', cluster, endpoints: [] },
  ]
  expect(factsOf({ pipeline: { layers } })).toEqual({
    retries: 5,
    endpoints: new Map([['127.0.0.1:1', { state: 'open', sinceMs: 12, probeInMs: 340, isolations: 2, attempts: 7 }]]),
    recovering: true,
    keepShare: 0.25,
  })
  expect(factsOf({})).toEqual({ retries: 0, endpoints: new Map(), recovering: false, keepShare: 1 })
})
