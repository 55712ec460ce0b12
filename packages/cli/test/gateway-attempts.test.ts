import { describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { type Answer, ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'

// How much of what comes was tried before, and how often the gateway tries itself.

const trust = ['127.0.0.0/8']
const RETRY = 'x-floodwall-retry'
const full = [{ kind: 'bulkhead', slots: 1 }]

/** Asks one by one, `times` times; then once more while the only slot is taken. */
async function refusedAfter(
  more: object,
  times: number,
  headers: (i: number) => Readonly<Record<string, string>>,
): Promise<{ readonly answer: Answer; readonly gateway: Gateway }> {
  const held: (() => void)[] = []
  const origin = await startOrigin((request, response) => {
    if (request.url === '/slow') held.push(() => response.end('slow'))
    else response.end('ok')
  })
  const config = { ...more, layers: full, endpoint: [] }
  const gateway = await startGateway({ upstreams: [origin.port], config })
  for (let i = 0; i < times; i++) expect((await ask(gateway.port, { headers: headers(i) })).status).toBe(200)
  const slow = ask(gateway.port, { path: '/slow' })
  await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1)
  const answer = await ask(gateway.port)
  held[0]?.()
  await slow
  return { answer, gateway }
}

describe('C23 what callers tell of their tries', () => {
  test('many of the requests are retries: who is refused is told not to try again', async () => {
    const { answer } = await refusedAfter({ trust }, 30, (i) => ({ 'X-Floodwall-Attempt': String(i % 3) }))
    expect(answer.status).toBe(503)
    expect(answer.headers[RETRY]).toBe('no')
    expect(answer.headers).not.toHaveProperty('retry-after')
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'overloaded_do_not_retry' })
  })

  test('callers who tell of many retries of theirs count as well', async () => {
    const { answer, gateway } = await refusedAfter({ trust }, 30, () => ({ 'X-Floodwall-Attempts': '70,20,10' }))
    expect(answer.headers[RETRY]).toBe('no')
    const [route] = (await gateway.inspect()).routes as unknown as { retryShare: number }[]
    expect(route?.retryShare).toBeGreaterThan(0.2)
  })

  test('few are: the refusal is one like any other', async () => {
    const { answer } = await refusedAfter({ trust }, 30, (i) => ({ 'X-Floodwall-Attempt': i === 0 ? '1' : '0' }))
    expect(answer.status).toBe(503)
    expect(answer.headers).not.toHaveProperty(RETRY)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'full' })
  })

  test.each([
    [0, 1, 'overloaded_do_not_retry'],
    [1, 2, 'full'],
  ])(
    'how many are many is what retryShare says: with %d, and %d more tries in a request, it is %s',
    async (retryShare, attempt, code) => {
      const attempts = (i: number) => ({ 'X-Floodwall-Attempt': i % 10 === 0 || attempt > 1 ? String(attempt) : '0' })
      const { answer } = await refusedAfter({ trust, retryShare }, 30, attempts)
      expect(JSON.parse(answer.body)).toMatchObject({ code })
    },
  )

  test('strangers are not believed, and not told', async () => {
    const { answer } = await refusedAfter({}, 30, () => ({ 'X-Floodwall-Attempt': '2' }))
    expect(answer.headers).not.toHaveProperty(RETRY)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'full' })
  })
})

describe('C23 what servers hear of the tries of the gateway', () => {
  test('how many were first tries, second tries ...', async () => {
    const origin = await startOrigin((request, response) =>
      response.writeHead(request.headers['x-floodwall-attempt'] === undefined ? 500 : 200).end(),
    )
    const layers = [
      { kind: 'retry', attempts: 2, backoff: { first: '200ms', atMost: '200ms' }, budget: { minimum: 100 } },
    ]
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, layers, endpoint: [] } })
    const said = { 'X-Floodwall-Attempts': '9,9,9' }
    for (let i = 0; i < 3; i++) expect((await ask(gateway.port, { headers: said })).status).toBe(200)
    const told = origin.seen.map(({ headers }) => String(headers['x-floodwall-attempts']))
    expect(told[0]).toBe('1')
    for (const text of told) expect(text).toMatch(/^[1-3](?:,[1-3])?$/)
    expect(told.some((text) => text.includes(','))).toBe(true)
  })

  test.each([
    ['a route without a retry', {}],
    ['propagate: false', { layers: [{ kind: 'retry' }], routes: [{ propagate: false }] }],
  ])('%s tells of none', async (_what, more) => {
    const origin = await startOrigin()
    const config = { trust, layers: [], endpoint: [], ...more }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    await ask(gateway.port, { headers: { 'X-Floodwall-Attempts': '9,9,9' } })
    expect(origin.seen[0]?.headers).not.toHaveProperty('x-floodwall-attempts')
  })
})
