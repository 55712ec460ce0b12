import { pipeline } from 'floodwall'
import { localTable } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { until } from '../adapters/client.ts'
import { fieldsOf, Office } from './office.ts'

const warm = '/caches/items/warm'

describe('what is shown', () => {
  test('everything that was registered, and each by itself', async () => {
    const api = pipeline('api', [])
    await using office = await new Office({ pipelines: { api } }).open()
    const all = await office.seen('/inspect')
    expect(all).toMatchObject({
      admin: { kind: 'admin', requests: 1, running: 0, changes: { warm: 0, stop: 0, forget: 0, refresh: 0 } },
      caches: { items: { kind: 'hotCache', entries: 0 } },
      tables: { rates: { kind: 'localTable', state: 'fresh', rows: 1, version: 1 } },
      pipelines: { api: { kind: 'pipeline', path: 'api' } },
    })
    expect(await office.seen('/caches')).toEqual(all['caches'])
    expect(await office.seen('/pipelines/api')).toEqual((all['pipelines'] as Record<string, unknown>)['api'])
    expect(await office.seen('/tables/rates')).toMatchObject({ version: 1, rows: 1, ageMs: 0 })
  })

  test('what cannot say what it is hides nothing else', async () => {
    const broken = {
      inspect() {
        throw new Error('no way to redis://shop:hunter2@cache.test')
      },
    }
    await using office = await new Office({ pipelines: { broken } }).open()
    expect(await office.seen('/inspect')).toMatchObject({
      caches: { items: { kind: 'hotCache' } },
      pipelines: { broken: { kind: 'unknown', fault: 'no way to redis://***@cache.test' } },
    })
    expect((await office.get('/pipelines/broken')).status).toBe(500)
    expect((await office.get('/pipelines/broken')).body).not.toContain('hunter2')
  })

  test('nor does what is no JSON', async () => {
    const round: Record<string, unknown> = { kind: 'round' }
    round['self'] = round
    const pipelines = {
      large: { inspect: () => ({ kind: 'large', path: 'x', bytes: 1n as never }) },
      round: { inspect: () => round as never },
      api: pipeline('api', []),
    }
    await using office = await new Office({ pipelines }).open()
    expect(await office.seen('/inspect')).toMatchObject({
      caches: { items: { kind: 'hotCache' } },
      pipelines: {
        large: { kind: 'unknown', fault: expect.stringContaining('BigInt') },
        round: { kind: 'unknown', fault: expect.stringContaining('circular') },
        api: { kind: 'pipeline' },
      },
    })
    expect(await office.seen('/pipelines/api')).toMatchObject({ kind: 'pipeline' })
  })

  test('the hottest keys of a cache', async () => {
    await using office = await new Office().open()
    for (let i = 0; i < 30; i++) office.cache.get(`item ${i % 25}`).catch(() => {})
    const { hottest } = (await office.seen('/caches/items')) as { hottest: { key: string }[] }
    expect([hottest.length, hottest[0]?.key]).toEqual([20, 'item 0'])
  })

  test('passwords in the address of a source are not', async () => {
    await using office = await new Office().open()
    const refreshing = office.post('/tables/rates/refresh')
    await until(() => office.refreshes.length === 1)
    office.refreshes.shift()?.fail(new Error('no way to postgres://shop:hunter2@db.test/rates'))
    const answer = await refreshing
    for (const { body } of [answer, await office.get('/inspect')]) {
      expect(body).toContain('no way to postgres://***@db.test/rates')
      expect(body).not.toContain('hunter2')
    }
  })

  test.each([
    ['an @ in one', 'postgres://shop:hunter2@hunter3@db.test/rates', 'postgres://***@db.test/rates'],
    ['several', 'redis://:hunter2@@a@b.test, redis://x:hunter2@c.test', 'redis://***@b.test, redis://***@c.test'],
    ['none', 'http://a.test/users/@me', 'http://a.test/users/@me'],
    ['a long line of slashes and letters', '/'.repeat(50_000) + 'a'.repeat(50_000), '//'],
    ['a long line of them', '//x@'.repeat(20_000), '//***@'],
  ])('with %s', async (_name, address, shown) => {
    const broken = {
      inspect() {
        throw new Error(address)
      },
    }
    await using office = await new Office({ pipelines: { broken } }).open()
    const { body } = await office.get('/inspect')
    expect(body).toContain(shown)
    expect(body).not.toContain('hunter')
  })
})

describe('warm', () => {
  test('answers what became of the keys, which are kept for the time that was asked for', async () => {
    await using office = await new Office().open()
    const warming = office.post(warm, { keys: ['phone', 'watch'], ttl: '5m' })
    await until(() => office.loads.length === 2)
    office.loads[0]?.answer('7 left')
    office.loads[1]?.fail(new Error('down'))
    const answer = await warming
    expect([answer.status, fieldsOf(answer)]).toEqual([
      ...[200, { id: 1, state: 'done', warmed: 1, failed: 1, skipped: 0, left: 0 }],
    ])
    office.world.advance('299s')
    expect([await office.cache.get('phone'), office.loads.length]).toEqual(['7 left', 2])
    expect(office.steered).toEqual(['admin/caches/items warm: 2 keys for 5m'])
    expect(await office.seen('/inspect')).toMatchObject({ admin: { changes: { warm: 1 }, running: 0 } })
  })

  test('without a ttl they are kept for the time of the cache', async () => {
    await using office = await new Office().open()
    const warming = office.post(warm, { keys: ['phone'] })
    await until(() => office.loads.length === 1)
    office.loads[0]?.answer('7 left')
    expect((await warming).status).toBe(200)
    office.world.advance('9999ms')
    await office.cache.get('phone')
    office.world.advance('1ms')
    office.cache.get('phone').catch(() => {})
    expect([office.loads.length, office.steered]).toEqual([2, ['admin/caches/items warm: 1 key']])
  })

  test('twice at the same time: each key is loaded once, and both hear of it', async () => {
    await using office = await new Office().open()
    const both = [office.post(warm, { keys: ['a', 'b'] }), office.post(warm, { keys: ['b', 'a'] })]
    await until(() => office.page.inspect()['running'] === 2 && office.loads.length >= 2)
    await office.world.settle()
    for (const { answer } of office.loads) answer('v')
    const answers = (await Promise.all(both)).map(fieldsOf)
    expect(answers).toMatchObject([{ warmed: 2 }, { warmed: 2 }])
    expect([office.loads.length, office.world.timers]).toEqual([2, 1])
  })

  test('what takes longer than the wait is answered 202, goes on, and is seen until its end and after', async () => {
    await using office = await new Office({ wait: '2s' }).open()
    const warming = office.post(warm, { keys: ['a', 'b'] })
    await until(() => office.loads.length === 2)
    office.loads[0]?.answer('v')
    await office.world.advanceAsync('2s')
    const answer = await warming
    expect([answer.status, fieldsOf(answer)]).toEqual([
      ...[202, { id: 1, state: 'running', warmed: 1, failed: 0, skipped: 0, left: 1, progress: 'GET /caches/items' }],
    ])
    const seen = async () => (await office.seen('/caches/items'))['warmUps']
    expect(await seen()).toMatchObject([{ id: 1, state: 'running', left: 1 }])
    office.loads[1]?.answer('v')
    await office.world.settle()
    expect(await seen()).toEqual([{ id: 1, state: 'done', warmed: 2, failed: 0, skipped: 0, left: 0 }])
    expect([office.page.inspect()['running'], office.world.timers]).toEqual([0, 1])
  })

  test('a client that leaves stops it: what runs is aborted, what waits is skipped, nothing is left', async () => {
    await using office = await new Office().open()
    const keys = Array.from({ length: 10 }, (_, i) => `item ${i}`)
    const { sent } = office.posting(warm, { keys })
    await until(() => office.loads.length === 4)
    sent.destroy()
    await until(() => office.loads.every(({ signal }) => signal.aborted))
    await office.world.settle()
    expect([office.loads.length, office.world.timers, office.page.inspect()['running']]).toEqual([4, 1, 0])
    expect((await office.seen('/caches/items'))['warmUps']).toMatchObject([{ state: 'stopped', warmed: 0, left: 0 }])
  })

  test('a client that leaves takes nobody with it', async () => {
    await using office = await new Office().open()
    const visitor = office.cache.get('a')
    const { sent } = office.posting(warm, { keys: ['a'] })
    await until(() => office.page.inspect()['running'] === 1)
    sent.destroy()
    await until(() => office.page.inspect()['running'] === 0)
    office.loads[0]?.answer('v')
    expect([await visitor, office.loads[0]?.signal.aborted]).toEqual(['v', false])
  })

  test('another operator stops it', async () => {
    await using office = await new Office().open()
    const warming = office.post(warm, { keys: ['a'] })
    await until(() => office.loads.length === 1)
    expect(fieldsOf(await office.post('/caches/items/stop'))).toEqual({ stopped: 1 })
    expect(fieldsOf(await warming)).toMatchObject({ state: 'stopped', left: 0 })
    expect(fieldsOf(await office.post('/caches/items/stop'))).toEqual({ stopped: 0 })
    expect(office.loads[0]?.signal.aborted).toBe(true)
  })

  test('the end of the page stops it, the end of the cache is told', async () => {
    await using office = await new Office({ wait: '1s' }).open()
    const first = office.post(warm, { keys: ['a'] })
    await until(() => office.loads.length === 1)
    await office.world.advanceAsync('1s')
    expect((await first).status).toBe(202)
    await office.page.close()
    expect(office.loads[0]?.signal.aborted).toBe(true)

    await using other = await new Office().open()
    other.cache.close()
    for (const path of [warm, '/caches/items/forget']) {
      const answer = await other.post(path, { keys: ['a'] })
      expect([answer.status, fieldsOf(answer)['detail']]).toEqual([409, 'items was closed.'])
    }
    expect([other.steered, (await other.get('/caches/items')).status]).toEqual([[], 200])
  })

  test('sixteen changes at once, no more; of those that have ended sixteen are shown', async () => {
    await using office = await new Office({ wait: '1s' }).open()
    const posted = Array.from({ length: 20 }, () => office.post(warm, { keys: ['a'] }))
    await until(() => office.page.inspect()['tooMany'] === 4)
    await office.world.advanceAsync('1s')
    const statuses = (await Promise.all(posted)).map(({ status }) => status)
    expect(statuses.sort((a, b) => a - b)).toEqual([...Array(16).fill(202), ...Array(4).fill(429)])
    expect(office.loads.length).toBe(1)
    office.loads[0]?.answer('v')
    await office.world.settle()
    // Warm for long enough already.
    for (let i = 0; i < 3; i++) expect((await office.post(warm, { keys: ['a'] })).status).toBe(200)
    const { warmUps } = (await office.seen('/caches/items')) as { warmUps: { id: number }[] }
    expect([warmUps.length, ...warmUps.slice(0, 3).map(({ id }) => id)]).toEqual([16, 19, 18, 17])
  })
})

describe('forget', () => {
  test('what is kept, and how much that was', async () => {
    await using office = await new Office().open()
    const warming = office.post(warm, { keys: ['a', 'b'] })
    await until(() => office.loads.length === 2)
    for (const { answer } of office.loads) answer('v')
    await warming
    expect(fieldsOf(await office.post('/caches/items/forget', { keys: ['a', 'c', 'a'] }))).toEqual({ forgotten: 1 })
    expect(office.cache.inspect()['entries']).toBe(1)
    expect(office.steered.at(-1)).toBe('admin/caches/items forget: 3 keys')
  })
})

describe('refresh', () => {
  const refresh = '/tables/rates/refresh'

  test('answers with the table that was loaded after it was asked for', async () => {
    await using office = await new Office().open()
    const refreshing = office.post(refresh)
    await until(() => office.refreshes.length === 1)
    await office.answerTable([
      ['EUR', 2],
      ['CHF', 3],
    ])
    const answer = await refreshing
    expect([answer.status, fieldsOf(answer)]).toMatchObject([200, { state: 'fresh', version: 2, rows: 2, ageMs: 0 }])
    expect([office.table.get('EUR'), office.steered]).toEqual([2, ['admin/tables/rates refresh: here']])
  })

  test('one that fails is 502 with the reason; the last good rows are kept', async () => {
    await using office = await new Office().open()
    const failing = office.post(refresh)
    await until(() => office.refreshes.length === 1)
    office.refreshes.shift()?.fail(new Error('the source is down'))
    const answer = await failing
    expect([answer.status, fieldsOf(answer)]).toMatchObject([
      502,
      { title: 'Bad Gateway', detail: 'rates: the source is down', table: { state: 'kept', version: 1, rows: 1 } },
    ])
    expect(office.table.get('EUR')).toBe(1)
  })

  test('one that takes longer than the table gives it is 504', async () => {
    const world = new VirtualRuntime()
    let begun = 0
    const endless = () => new Promise<never>(() => void begun++)
    const rates = localTable<string, number>({ load: endless, within: '3s', name: 'rates' }, world)
    rates.ready.catch(() => {})
    await using office = await new Office({ tables: { rates } }, undefined, world).open()
    await world.advanceAsync('3s')
    const refreshing = office.post(refresh)
    await until(() => begun === 2)
    await world.advanceAsync('3s')
    const answer = await refreshing
    expect([answer.status, fieldsOf(answer)['detail']]).toEqual([504, 'rates: [timeout] rates: no answer within 3s'])
    rates.close()
  })

  test('a load that takes longer than the wait is 202; whether it came to a good end is seen at the table', async () => {
    await using office = await new Office().open()
    const refreshing = office.post(refresh, {})
    await until(() => office.refreshes.length === 1)
    await office.world.advanceAsync('10s')
    const answer = await refreshing
    expect([answer.status, fieldsOf(answer)]).toMatchObject([202, { version: 1, progress: 'GET /tables/rates' }])
    await office.world.advanceAsync('20s')
    expect(await office.seen('/tables/rates')).toMatchObject({ version: 1, state: 'kept', failures: 1 })
    expect(office.page.inspect()['running']).toBe(0)
  })

  test('sixteen at once are two loads: the one that runs, and one that began after they asked', async () => {
    await using office = await new Office().open()
    const posted = Array.from({ length: 16 }, () => office.post(refresh))
    await until(() => office.page.inspect()['running'] === 16)
    await office.answerTable([['EUR', 2]])
    await office.answerTable([['EUR', 3]])
    const answers = await Promise.all(posted)
    expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200))
    expect([office.table.version, office.refreshes.length]).toEqual([3, 0])
  })

  test('a client that leaves ends nothing: the load is everybody', async () => {
    await using office = await new Office().open()
    const { sent } = office.posting(refresh, {})
    await until(() => office.refreshes.length === 1)
    sent.destroy()
    await until(() => office.page.inspect()['left'] === 1)
    expect(office.refreshes[0]?.signal.aborted).toBe(false)
    await office.answerTable([['EUR', 2]])
    expect([office.table.get('EUR'), office.page.inspect()['running'], office.world.timers]).toEqual([2, 0, 1])
  })

  test('of a table that was closed, before and meanwhile: 409', async () => {
    await using office = await new Office().open()
    const refreshing = office.post(refresh)
    await until(() => office.refreshes.length === 1)
    office.table.close()
    for (const answer of [await refreshing, await office.post(refresh)]) expect(answer.status).toBe(409)
  })
})
