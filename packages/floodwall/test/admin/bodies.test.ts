import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { hotCache, localTable } from 'floodwall/caches'
import { describe, expect, test } from 'vitest'
import { ask, asking, raw, until } from '../adapters/client.ts'
import { fieldsOf, Office, TOKEN } from './office.ts'

const head = (port: number, length: number | string, path = '/caches/items/warm') =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n${
    typeof length === 'number' ? `Content-Length: ${length}` : length
  }\r\n\r\n`

const nothing = { counts: [0, 0, []], timers: 1 }

/** What a wrong question must not have done; the one timer is the table's. */
function left(office: Office): typeof nothing {
  return {
    counts: [office.loads.length, office.refreshes.length, office.steered] as never,
    timers: office.world.timers,
  }
}

describe('wrong input is 400, and says field, value and expectation', () => {
  const warm = '/caches/items/warm'
  const forget = '/caches/items/forget'
  const refresh = '/tables/rates/refresh'

  test.each<[string, unknown, string]>([
    [warm, '', 'body.keys: expected this field (it is required), got undefined'],
    [warm, '{', 'body: expected JSON: '],
    [warm, '[]', 'body: expected an object, got []'],
    [refresh, '[]', 'body: expected an object, got []'],
    [refresh, 'true', 'body: expected an object, got true'],
    [warm, 'null', 'body: expected an object, got null'],
    [warm, { keys: 'a' }, 'body.keys: expected a list of keys, got "a"'],
    [warm, { keys: [] }, 'body.keys: expected at least one key, got []'],
    [
      warm,
      { keys: ['a', null] },
      'body.keys[1]: expected a finite number or a text of at most 1000 characters, got null',
    ],
    [warm, { keys: [{ $gt: '' }] }, 'body.keys[0]: expected a finite number or a text'],
    [warm, { keys: ['x'.repeat(1001)] }, 'body.keys[0]: expected a finite number or a text'],
    [
      warm,
      `{"keys":[1e999]}`,
      'body.keys[0]: expected a finite number or a text of at most 1000 characters, got Infinity',
    ],
    [warm, { keys: Array(1001).fill('a') }, 'body.keys: expected at most 1000 keys, got ["a"'],
    [
      warm,
      { keys: ['a'], ttl: '5 minutes' },
      'body.ttl: expected a span such as 250 (ms), "250ms" or "1.5s", above 0, got "5 minutes"',
    ],
    [warm, { keys: ['a'], ttl: 0 }, 'body.ttl: expected a span such as'],
    [warm, { keys: ['a'], ttl: '2d' }, 'body.ttl: expected a day at most, got 172800000'],
    [warm, { keys: ['a'], everywhere: 'yes' }, 'body.everywhere: expected true or false, got "yes"'],
    [
      warm,
      { keys: ['a'], everywhere: true },
      'body.everywhere: expected false, since items has no broadcast, got true',
    ],
    [warm, { key: ['a'] }, 'body.key: expected no such field; known: keys, ttl, everywhere'],
    [warm, '{"keys":["a"],"__proto__":{"everywhere":true}}', 'body.__proto__: expected no such field'],
    [forget, { keys: ['a'], ttl: '1s' }, 'body.ttl: expected no such field; known: keys, everywhere'],
    [refresh, { everywhere: 1 }, 'body.everywhere: expected true or false, got 1'],
    [refresh, { everywhere: true }, 'body.everywhere: expected false, since rates has no broadcast, got true'],
    ['/caches/items/stop', { keys: ['a'] }, 'body.keys: expected no such field'],
  ])('%s %j', async (path, body, fault) => {
    await using office = await new Office().open()
    const answer = await office.post(path, body)
    const fields = fieldsOf(answer)
    expect([answer.status, fields['status'], answer.headers['content-type']]).toEqual([
      400,
      400,
      'application/problem+json',
    ])
    expect(fields['detail']).toContain(fault)
    expect(left(office)).toEqual(nothing)
  })

  test('a thousand wrong keys are not told a thousand times', async () => {
    await using office = await new Office().open()
    const { body } = await office.post(warm, { keys: Array(1000).fill(null) })
    expect([(JSON.parse(body) as { issues: unknown[] }).issues.length, body.length < 5000]).toEqual([10, true])
    expect(body).toContain('; and 990 more')
  })

  test('whatever JSON is sent: an answer below 500, and nothing is left', async () => {
    const items = hotCache<string, string>({ load: (key) => key, ttl: '1m' })
    const rates = localTable<string, number>({ load: () => [], every: '1h' })
    await using office = await new Office({ caches: { items }, tables: { rates } }).open()
    // Beside bodies of any kind, some that reach further than the first field.
    const near = fc.record(
      { keys: fc.array(fc.jsonValue()), ttl: fc.jsonValue(), everywhere: fc.jsonValue() },
      { requiredKeys: [] },
    )
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      near.map((it) => JSON.stringify(it)),
    )
    const path = fc.constantFrom(warm, forget, refresh, '/caches/items/stop')
    const answers = fc.asyncProperty(body, path, async (text, to) => {
      expect((await office.post(to, text)).status).toBeLessThan(500)
    })
    await fc.assert(answers, { seed: 11, numRuns: 300 })
    const { requests, left: gone, faults, running } = office.page.inspect()
    expect([requests, gone, faults, running, office.world.timers]).toEqual([300, 0, 0, 0, 1])
    rates.close()
  })
})

describe('paths and methods', () => {
  test.each([
    ...[
      '/',
      '',
      '/caches/',
      '/caches/nobody',
      '/caches/items/',
      '/caches/items/burn',
      '/caches/items/warm/now',
      '//inspect',
    ],
    ...['/tables/items', '/tables/rates/warm', '/inspect/', '/Inspect', '/caches/constructor', '/caches/__proto__'],
    ...['/caches/%69tems', '/caches/../inspect', '/constructor', '/pipelines/x/y', 'http://127.0.0.1/inspect', '*'],
  ])('nothing is at "%s"', async (path) => {
    await using office = await new Office().open()
    const answer = await office.get(path)
    expect(answer.status).toBe(404)
    expect(fieldsOf(answer)).toMatchObject({ status: 404, caches: ['items'], tables: ['rates'] })
  })

  test.each([
    ['POST', '/inspect', 'GET, HEAD'],
    ['DELETE', '/caches/items', 'GET, HEAD'],
    ['GET', '/caches/items/warm', 'POST'],
    ['PUT', '/tables/rates/refresh', 'POST'],
  ])('%s is no method of %s', async (method, path, allow) => {
    await using office = await new Office().open()
    const answer = await ask(office.asked(method, path))
    expect([answer.status, answer.headers.allow]).toEqual([405, allow])
    expect(left(office)).toEqual(nothing)
  })

  test('HEAD is GET without a body', async () => {
    await using office = await new Office().open()
    const answer = await ask(office.asked('HEAD', '/caches'))
    expect([answer.status, answer.body, Number(answer.headers['content-length']) > 10]).toEqual([200, '', true])
  })
})

describe('a body is bounded', () => {
  test.each([
    ['text/plain', {}],
    ['application/json; charset=latin1', {}],
    ['application/json-seq', {}],
    ['application/json', { 'content-encoding': 'gzip' }],
  ])('%s %j is not read', async (type, more) => {
    await using office = await new Office().open()
    const headers = { 'content-type': type, ...more }
    const answer = await ask(office.asked('POST', '/caches/items/forget', { body: '{"keys":["a"]}', headers }))
    expect(answer.status).toBe(415)
  })

  test('the type may say its letters; bytes that are none are refused', async () => {
    await using office = await new Office().open()
    const headers = { 'content-type': 'Application/JSON; charset="UTF-8"' }
    const asked = office.asked('POST', '/caches/items/forget', { body: '{"keys":["ä"]}', headers })
    expect((await ask(asked)).status).toBe(200)
    const body = Buffer.from('{"keys":["\xe4"]}', 'latin1')
    const { answer } = asking({
      ...asked,
      headers: { ...asked.headers, 'content-length': body.length },
      body: body as never,
    })
    expect((await answer).status).toBe(400)
  })

  test('65,536 bytes are read, 65,537 are not, said or not', async () => {
    await using office = await new Office().open()
    const path = '/caches/items/forget'
    const fill = (bytes: number) => JSON.stringify({ keys: ['a'] }).padEnd(bytes)
    expect((await office.post(path, fill(65_536))).status).toBe(200)
    expect((await office.post(path, fill(65_537))).status).toBe(413)
    const chunked = raw(office.port, head(office.port, 'Transfer-Encoding: chunked', path))
    chunked.socket.write(`${(65_537).toString(16)}\r\n${fill(65_537)}\r\n`)
    await until(() => chunked.text().includes(' 413 '))
    expect(chunked.text()).toContain('connection: close')
    await until(() => chunked.socket.readableEnded)
    chunked.socket.destroy()
    expect(office.steered).toEqual(['admin/caches/items forget: 1 key'])
  })

  test('a gigabyte is refused by its head, and never taken', async () => {
    await using office = await new Office().open()
    // One that goes on sending after the server has ended its side.
    const large = connect({ port: office.port, host: '127.0.0.1', allowHalfOpen: true })
    large.write(head(office.port, 1_000_000_000))
    const [answer] = (await once(large, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1.1 413 [^]*connection: close/)
    // Not cut at once: a reset would make the client forget the answer.
    await until(() => office.world.timers === 2)
    await office.world.advanceAsync('500ms')
    await until(() => office.world.timers === 1)
    large.destroy()
    expect(left(office)).toEqual(nothing)
  })

  test('who is slow is told so after 5 s, and his connection ends', async () => {
    await using office = await new Office().open()
    const slow = raw(office.port, `${head(office.port, 100)}{"keys"`)
    await until(() => office.world.timers === 2)
    await office.world.advanceAsync('4999ms')
    expect(slow.text()).toBe('')
    await office.world.advanceAsync('1ms')
    await until(() => slow.socket.readableEnded)
    expect(slow.text()).toMatch(/^HTTP\/1.1 408 [^]*connection: close/)
    slow.socket.destroy()
  })

  test('who leaves half-way leaves nothing behind', async () => {
    await using office = await new Office().open()
    const cut = raw(office.port, `${head(office.port, 100)}{"keys":["a"]}`)
    await until(() => office.world.timers === 2)
    cut.socket.destroy()
    await until(() => office.world.timers === 1)
    expect(left(office)).toEqual(nothing)
    expect(office.page.inspect()).toMatchObject({ left: 1, running: 0, faults: 0 })
  })

  test('a large body without the token is not read; a small one keeps the connection', async () => {
    await using office = await new Office().open()
    const bare = (length: number) => head(office.port, length).replace(TOKEN, 'x'.repeat(TOKEN.length))
    const large = raw(office.port, bare(200_000))
    await until(() => large.text().includes(' 401 '))
    expect(large.text()).toContain('connection: close')
    large.socket.destroy()
    const small = raw(office.port, `${bare(2)}{}${bare(2)}{}`)
    await until(() => small.text().split(' 401 ').length === 3)
    small.socket.destroy()
    expect(left(office).counts).toEqual(nothing.counts)
  })
})
