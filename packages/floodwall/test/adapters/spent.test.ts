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

  test('says nothing where nobody has tried again', async () => {
    expect(await answering(503, false)).toBeUndefined()
  })
})

test('callOf is the parent of calls as well', () => {
  expect(callOf({ raw: {} } as never)).toBeUndefined()
})
