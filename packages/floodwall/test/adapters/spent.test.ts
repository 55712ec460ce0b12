import { pipeline, retry } from 'floodwall'
import { callOf } from 'floodwall/server'
import { describe, expect, test } from 'vitest'
import { ask } from './client.ts'
import { frameworks } from './frameworks.ts'

// Whoever has tried again in vain says so to its caller, whatever it makes of the error: a status of its own is enough.

const broken = () => Promise.reject(new Error('broken'))

describe.each(frameworks)('%s: a handler whose retries were in vain', (_, start) => {
  const answering = async (status: number, retries: boolean) => {
    const layers = retries ? [retry({ backoff: { first: 0 }, budget: { minimum: 100 } })] : []
    const stock = pipeline('stock', layers)
    await using server = await start(pipeline('door', []), async (parent) => {
      await stock.call(broken, { parent, idempotent: true }).catch(() => {})
      return { status, body: 'mine' }
    })
    const { status: got, headers, body } = await ask({ port: server.port })
    expect([got, body]).toEqual([status, 'mine'])
    return headers['x-floodwall-retry']
  }

  test.each([500, 502, 503, 504])('and which answers %d tells its caller not to try again', async (status) => {
    expect(await answering(status, true)).toBe('no')
  })

  test('says nothing where it made good for it, or where the caller is to blame', async () => {
    expect([await answering(200, true), await answering(404, true), await answering(429, true)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  const lettingGo = async (made: (stocks: unknown) => unknown) => {
    const stock = pipeline('stock', [retry({ backoff: { first: 0 }, budget: { minimum: 100 } })])
    await using server = await start(pipeline('door', []), async (parent) => {
      const stocks = await stock.call(broken, { parent, idempotent: true }).catch((error: unknown) => error)
      throw made(stocks)
    })
    const { status, headers } = await ask({ port: server.port })
    return [status, headers['x-floodwall-retry']]
  }

  test('says so when it lets the error go, bare or as the cause of its own; of another matter nothing', async () => {
    expect(await lettingGo((error) => error)).toEqual([503, 'no'])
    expect(await lettingGo((cause) => new Error('no stock', { cause }))).toEqual([503, 'no'])
    expect(await lettingGo((error) => new AggregateError([new Error('other'), error]))).toEqual([503, 'no'])
    expect(await lettingGo(() => new Error('another matter'))).toEqual([500, undefined])
  })

  test('says nothing where nobody has tried again', async () => {
    expect(await answering(503, false)).toBeUndefined()
  })
})

test('callOf is the parent of calls as well', () => {
  expect(callOf({ raw: {} } as never)).toBeUndefined()
})
