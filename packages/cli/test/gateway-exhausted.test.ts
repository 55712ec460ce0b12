import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { deadPort, startOrigin } from './support/origin.ts'

// Whose retries are used up says so to those who would retry him.

const trust = ['127.0.0.0/8']
const twice = { layers: [{ kind: 'retry', attempts: 2, backoff: { first: '1ms' } }], endpoint: [] }
const bare = { layers: [], endpoint: [] }
const NAME = 'x-floodwall-retry'

describe('no answer to pass on', () => {
  test('trusted callers are told not to retry, in the header and in the code', async () => {
    const gateway = await startGateway({ upstreams: [await deadPort()], config: { trust, ...twice } })
    const { status, headers, body } = await ask(gateway.port)
    expect(status).toBe(503)
    expect(headers).toMatchObject({ [NAME]: 'no' })
    expect(headers).not.toHaveProperty('retry-after')
    expect(JSON.parse(body)).toMatchObject({ code: 'overloaded_do_not_retry', status: 503, why: 'refused' })
    await gateway.quiet()
  })

  test('in the form of google, too', async () => {
    const config = { trust, ...twice, routes: [{ errors: 'google' }] }
    const gateway = await startGateway({ upstreams: [await deadPort()], config })
    const { headers, body } = await ask(gateway.port)
    expect(headers[NAME]).toBe('no')
    expect(JSON.parse(body)).toMatchObject({
      error: {
        code: 503,
        status: 'UNAVAILABLE',
        details: [{ reason: 'OVERLOADED_DO_NOT_RETRY', domain: 'floodwall' }],
      },
    })
  })

  test('strangers are told what happened, and nothing of that', async () => {
    const gateway = await startGateway({ upstreams: [await deadPort()], config: twice })
    const { status, headers, body } = await ask(gateway.port)
    expect(status).toBe(502)
    expect(headers).not.toHaveProperty(NAME)
    expect(body).not.toContain('overloaded_do_not_retry')
  })

  test('without a retry nobody has used any up', async () => {
    const gateway = await startGateway({ upstreams: [await deadPort()], config: { trust, ...bare } })
    const { status, headers, body } = await ask(gateway.port)
    expect(status).toBe(502)
    expect(headers).not.toHaveProperty(NAME)
    expect(JSON.parse(body)).toMatchObject({ code: 'upstream-refused' })
  })
})

describe('an answer that is passed on', () => {
  const sick = (more: Record<string, string> = {}): ReturnType<typeof startOrigin> =>
    startOrigin((_request, response) => response.writeHead(500, more).end('sick'))

  test('keeps its status and body, and says not to retry to those who are trusted', async () => {
    const origin = await sick()
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...twice } })
    const { status, headers, body } = await ask(gateway.port)
    expect({ status, body, told: headers[NAME] }).toEqual({ status: 500, body: 'sick', told: 'no' })
    expect(origin.seen).toHaveLength(2)
  })

  test('to strangers it says nothing', async () => {
    const origin = await sick()
    const gateway = await startGateway({ upstreams: [origin.port], config: twice })
    const { status, headers } = await ask(gateway.port)
    expect(status).toBe(500)
    expect(headers).not.toHaveProperty(NAME)
  })

  test('what may not be retried is not: nothing was used up', async () => {
    const origin = await sick()
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...twice } })
    const { status, headers } = await ask(gateway.port, { method: 'POST', body: 'x' })
    expect(status).toBe(500)
    expect(headers).not.toHaveProperty(NAME)
    expect(origin.seen).toHaveLength(1)
  })

  test('the server has said it itself: once, and not twice', async () => {
    const origin = await sick({ 'X-Floodwall-Retry': 'no' })
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...twice } })
    const { raw } = await ask(gateway.port)
    expect(raw.filter((name) => name.toLowerCase() === NAME)).toHaveLength(1)
    expect(origin.seen).toHaveLength(1)
  })

  test('a retry that helped leaves nothing to say', async () => {
    const origin = await startOrigin((_request, response) =>
      response.writeHead(origin.seen.length === 1 ? 500 : 200).end(),
    )
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...twice } })
    const { status, headers } = await ask(gateway.port)
    expect(status).toBe(200)
    expect(headers).not.toHaveProperty(NAME)
  })
})

// Two gateways take their time to begin.
describe('a chain: client, gateway, gateway, server', { timeout: 60_000 }, () => {
  test('the inner one has retried, so that the outer one does not, and says so further out', async () => {
    const origin = await startOrigin((_request, response) => response.writeHead(500).end('sick'))
    const inner = await startGateway({ upstreams: [origin.port], config: { trust, ...twice } })
    const outer = await startGateway({ upstreams: [inner.port], config: { trust, ...twice } })
    const { status, headers, body } = await ask(outer.port)
    expect({ status, body, told: headers[NAME] }).toEqual({ status: 500, body: 'sick', told: 'no' })
    // Two, and not four.
    expect(origin.seen).toHaveLength(2)
    expect((await outer.inspect()).upstreams[0]?.attempts).toBe(1)
  })

  test('the same where there is no answer to pass on', async () => {
    const inner = await startGateway({ upstreams: [await deadPort()], config: { trust, ...twice } })
    const outer = await startGateway({ upstreams: [inner.port], config: { trust, ...twice } })
    const { status, headers, body } = await ask(outer.port)
    expect({ status, told: headers[NAME] }).toEqual({ status: 503, told: 'no' })
    expect(JSON.parse(body)).toMatchObject({ code: 'overloaded_do_not_retry' })
    expect((await inner.inspect()).upstreams[0]?.attempts).toBe(2)
    expect((await outer.inspect()).upstreams[0]?.attempts).toBe(1)
  })

  test('who is not trusted by the inner one is not told, and tries again as he would with any server', async () => {
    const origin = await startOrigin((_request, response) => response.writeHead(500).end('sick'))
    const inner = await startGateway({ upstreams: [origin.port], config: twice })
    const outer = await startGateway({ upstreams: [inner.port], config: { trust, ...twice } })
    await ask(outer.port)
    expect(origin.seen).toHaveLength(4)
  })
})
