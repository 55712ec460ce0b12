import { breaker, type Call, hotParameter, keyed, pipeline, rateLimit, shadow } from 'floodwall'
import { byAddress, byHeader } from 'floodwall/server'
import { readRateLimit, readRateLimitPolicy } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { type Answer, ask } from './client.ts'
import { frameworks, type Reply } from './frameworks.ts'

// Limits of callers over HTTP: who is refused, what he hears, and whom it does not concern. Over real servers and real sockets.

const ok = async (): Promise<Reply> => ({ body: 'ok' })
/** Nothing comes back while a test runs. */
const perHour = (burst: number) => rateLimit({ rate: burst, per: '1h' })
const fields = ({ headers }: Answer) => [headers['ratelimit-policy'], headers['ratelimit']]
const from = (address: string) => ({ 'x-forwarded-for': address })

describe.each(frameworks)('%s', (_, start) => {
  test('each address has a limit of its own, a network of IPv6 has one, and all hear what is left', async () => {
    const p = pipeline('api', [keyed({ of: perHour(2) })])
    await using server = await start(p, ok, { key: byAddress({ proxies: ['127.0.0.1'] }) })
    const get = (address: string) => ask({ port: server.port, headers: from(address) })
    const answers = [await get('192.0.2.1'), await get('192.0.2.1'), await get('192.0.2.1'), await get('192.0.2.2')]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 200])
    expect(answers.map(fields)).toEqual([
      ['"api/keyed";q=2;w=3600', '"api/keyed";r=1;t=1800'],
      ['"api/keyed";q=2;w=3600', expect.stringMatching(/^"api\/keyed";r=0;t=1(?:800|799)$/)],
      ['"api/keyed";q=2;w=3600', expect.stringMatching(/^"api\/keyed";r=0;t=1800$/)],
      ['"api/keyed";q=2;w=3600', '"api/keyed";r=1;t=1800'],
    ])
    const refused = answers[2] as Answer
    expect(refused.headers).toMatchObject({ 'retry-after': '1800', 'content-type': 'application/problem+json' })
    expect(JSON.parse(refused.body)).toMatchObject({ type: 'urn:floodwall:problem:rate', status: 429, code: 'rate' })
    expect(JSON.parse(refused.body).retryAfterMs).toBeGreaterThan(1_700_000)

    const six = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::1', '2001:db8:0:1::1']
    const statuses = []
    for (const address of six) statuses.push((await get(address)).status)
    expect(statuses).toEqual([200, 200, 429, 200])
  })

  test('in the form of Google: RESOURCE_EXHAUSTED, with a RetryInfo', async () => {
    const p = pipeline('api', [keyed({ of: perHour(1) })])
    await using server = await start(p, ok, { key: byHeader('x-api-key'), format: 'google' })
    const get = (key: string) => ask({ port: server.port, headers: { 'x-api-key': key } })
    expect([(await get('a')).status, (await get('b')).status]).toEqual([200, 200])
    const { status, headers, body } = await get('a')
    expect([status, headers['retry-after']]).toEqual([429, '3600'])
    const { error } = JSON.parse(body)
    expect(error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED' })
    expect(error.details).toContainEqual({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3600s' })
    expect(readRateLimit(String(headers['ratelimit']))).toEqual([{ name: 'api/keyed', left: 0, resetS: 3600 }])
  })

  test('what those have left who have no key is told to none of them but whom it refuses', async () => {
    const p = pipeline('api', [keyed({ of: perHour(2) })])
    await using server = await start(p, ok)
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await ask({ port: server.port }))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers.map((answer) => fields(answer)[1] !== undefined)).toEqual([false, false, true])
  })

  test('nor is what callers have left who share one limit, since the table is full', async () => {
    const p = pipeline('api', [keyed({ of: perHour(2), max: 1 })])
    await using server = await start(p, ok, { key: byHeader('x-api-key') })
    const get = async (key: string) => {
      const answer = await ask({ port: server.port, headers: { 'x-api-key': key } })
      return [answer.status, answer.headers['ratelimit']?.toString().replace(/;t=.*/, '')]
    }
    expect(await get('a')).toEqual([200, '"api/keyed";r=1'])
    expect([await get('b'), await get('c'), await get('d')]).toEqual([
      [200, undefined],
      [200, undefined],
      [429, undefined],
    ])
    expect(await get('a')).toEqual([200, '"api/keyed";r=0'])
  })

  test('a limit for everybody is told to whom it refuses, and to nobody else', async () => {
    const p = pipeline('api', [keyed({ of: perHour(9) }), perHour(2)])
    await using server = await start(p, ok, { key: byAddress() })
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await ask({ port: server.port }))
    const said = answers.map(({ status, headers }) => [
      status,
      readRateLimitPolicy(String(headers['ratelimit-policy'])).map(({ name }) => name),
      readRateLimit(String(headers['ratelimit'])).map(({ name, left }) => `${name} ${left}`),
    ])
    expect(said).toEqual([
      [200, ['api/keyed'], ['api/keyed 8']],
      [200, ['api/keyed'], ['api/keyed 7']],
      // The token of the other one went back; of that nothing is said, since its time is not that of Retry-After.
      [429, ['api/keyed', 'api/rateLimit'], ['api/rateLimit 0']],
    ])
  })

  test.each([
    ['all', ['api/keyed', 'api/rateLimit'], ['api/rateLimit']],
    ['keyed', ['api/keyed'], ['api/rateLimit']],
    ['refusals', [], ['api/rateLimit']],
    ['none', [], []],
  ] as const)('rateLimitHeaders: %s', async (rateLimitHeaders, passing, refusing) => {
    const p = pipeline('api', [keyed({ of: perHour(9) }), perHour(1)])
    await using server = await start(p, ok, { key: byAddress(), rateLimitHeaders })
    const [first, second] = [await ask({ port: server.port }), await ask({ port: server.port })]
    const names = ({ headers }: Answer) => readRateLimit(String(headers['ratelimit'] ?? '')).map(({ name }) => name)
    expect([first.status, names(first), second.status, names(second)]).toEqual([200, passing, 429, refusing])
    expect('ratelimit-policy' in first.headers).toBe(passing.length > 0)
    expect(second.headers['retry-after']).toBeDefined()
  })

  test('what costs more than can ever be saved up hears that it can never pass, and no time', async () => {
    const p = pipeline('api', [keyed({ of: perHour(2) })])
    await using server = await start(p, ok, { key: byAddress(), cost: () => 3 })
    const { status, headers, body } = await ask({ port: server.port })
    expect([status, headers['retry-after'], headers['x-floodwall-retry']]).toEqual([429, undefined, 'no'])
    expect(headers['ratelimit']).toBe('"api/keyed";r=2;t=3600')
    expect(JSON.parse(body)).toMatchObject({ code: 'rate', retry: 'no', detail: expect.stringContaining('ever allow') })
    expect(JSON.parse(body)).not.toHaveProperty('retryAfterMs')
  })

  test('a layer that limits single values finds them in the request', async () => {
    const p = pipeline('api', [hotParameter({ parameter: 'query:item', rate: 1, per: '1h' })])
    await using server = await start(p, ok)
    const statuses = []
    for (const path of ['/?item=1', '/?item=2', '/?a&%69tem=1', '/', '/']) {
      statuses.push((await ask({ port: server.port, path })).status)
    }
    expect(statuses).toEqual([200, 200, 429, 200, 200])
  })

  test('other refusals, redirections and what is exempt say nothing of limits; a handler of its own limits has the last word', async () => {
    const p = pipeline('api', [
      keyed({ of: perHour(100) }),
      shadow({ of: perHour(1) }),
      breaker({ consecutive: 1, openFor: '1h' }),
    ])
    const handler = async (_: Call, { url }: { url?: string | undefined }): Promise<Reply> => {
      if (url === '/moved') return { status: 301, headers: { location: '/' } }
      if (url === '/own') return { headers: { RateLimit: '"mine";r=1;t=1' }, body: 'ok' }
      return { status: url === '/broken' ? 500 : 200, body: 'ok' }
    }
    await using server = await start(p, handler, { key: byAddress(), exempt: ['/health'], rateLimitHeaders: 'all' })
    const get = async (path: string) => {
      const { status, headers } = await ask({ port: server.port, path })
      return [status, headers['ratelimit']]
    }
    expect(await get('/health')).toEqual([200, undefined])
    expect(await get('/moved')).toEqual([301, undefined])
    expect(await get('/own')).toEqual([200, '"mine";r=1;t=1'])
    expect(await get('/broken')).toEqual([500, expect.stringContaining('"api/keyed";r=97')])
    expect(await get('/')).toEqual([503, undefined])
  })
})
