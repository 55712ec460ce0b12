import type { Endpoint } from 'floodwall'
import { systemRuntime } from 'floodwall'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { isOffLimits } from '../../src/client/discovery/off-limits.ts'
import { foremost, scaled } from '../../src/client/discovery/srv.ts'
import { type DnsOptions, dns } from '../../src/client/index.ts'
import type { FloodEvent } from '../../src/core/event.ts'
import { DnsServer, type Reply } from './support/dns-server.ts'

interface Found {
  readonly server: DnsServer
  readonly lists: Endpoint[][]
  readonly errors: unknown[]
  readonly events: FloodEvent[]
  /** The waits between answers, which pass at once. */
  readonly waits: number[]
}

/** A discovery over a server with these replies; it asks again at once, `rounds` times in all. */
async function look(
  options: Omit<DnsOptions, 'name'>,
  replies: Record<string, Reply>,
  rounds = 1,
  random = 0,
): Promise<Found> {
  const server = await DnsServer.start()
  for (const [key, reply] of Object.entries(replies)) server.replies.set(key, reply)
  const found: Found = { server, lists: [], errors: [], events: [], waits: [] }
  const runtime = {
    ...systemRuntime,
    random: () => random,
    emit: (event: FloodEvent) => void found.events.push(event),
    after(ms: number, fn: () => void) {
      if (found.waits.push(ms) < rounds) setImmediate(fn)
      return () => {}
    },
  }
  const whole: DnsOptions = { name: 'shop.test', port: 80, servers: [server.address], timeout: 200, ...options }
  const discovery = dns(whole, runtime)
  onTestFinished(() => discovery.close())
  discovery.start(
    (list) => void found.lists.push([...list]),
    (error) => void found.errors.push(error),
  )
  await vi.waitFor(() => expect(found.waits).toHaveLength(rounds), { timeout: 10_000 })
  return found
}

const ids = (list: readonly Endpoint[] | undefined) => list?.map((e) => e.id)

describe('A and AAAA', () => {
  test('an endpoint for each address, sorted, with the port', async () => {
    const { lists } = await look({}, { 'A shop.test': { records: ['10.0.0.2', '10.0.0.1'] } })
    expect(lists).toEqual([
      [
        { id: '10.0.0.1:80', weight: 1 },
        { id: '10.0.0.2:80', weight: 1 },
      ],
    ])
  })

  test('AAAA, with a scheme', async () => {
    const replies = { 'AAAA shop.test': { records: ['fd00::1', '2001:db8::2'] } }
    const { lists } = await look({ kind: 'AAAA', scheme: 'https', port: 8443 }, replies)
    expect(lists[0]).toEqual([
      { id: '[2001:db8::2]:8443', weight: 1, address: 'https://[2001:db8::2]:8443' },
      { id: '[fd00::1]:8443', weight: 1, address: 'https://[fd00::1]:8443' },
    ])
  })

  test.each([
    [5, 5000],
    [0, 1000],
    [1, 1000],
    [86_400, 30_000],
  ])('a TTL of %i s: asked again after %i ms', async (ttl, ms) => {
    const { waits } = await look({}, { 'A shop.test': { ttl, records: ['10.0.0.1'] } })
    expect(waits).toEqual([ms])
  })

  test('each answer is a new list', async () => {
    const { server, lists } = await look({}, { 'A shop.test': { records: ['10.0.0.1'] } }, 1)
    expect(lists).toHaveLength(1)
    expect(server.questions).toEqual(['A shop.test'])
  })

  test.each<[Reply, string]>([
    ['servfail', 'ESERVFAIL'],
    ['nxdomain', 'ENOTFOUND'],
    ['silence', 'ETIMEOUT'],
    [{ records: [] }, 'ENODATA'],
  ])('%j is a failure, and it asks again after a while, less and less often', async (reply, code) => {
    const { errors, lists, waits } = await look({ timeout: 50 }, { 'A shop.test': reply }, 3, 1)
    expect(lists).toEqual([])
    expect(errors).toMatchObject([{ code }, { code }, { code }])
    expect(waits.map(Math.round)).toEqual([1100, 2200, 4400])
  })
})

describe('addresses that no endpoint may have', () => {
  const records = ['169.254.169.254', '10.0.0.1', '0.0.0.0', '100.100.100.200']

  test('are dropped, and told once', async () => {
    const { lists, events } = await look({}, { 'A shop.test': { records } }, 3)
    expect(lists.map(ids)).toEqual([['10.0.0.1:80'], ['10.0.0.1:80'], ['10.0.0.1:80']])
    expect(events).toMatchObject([
      {
        type: 'warning',
        path: 'dns/shop.test',
        why: expect.stringContaining('0.0.0.0, 100.100.100.200, 169.254.169.254'),
      },
    ])
  })

  test('are taken when that is said', async () => {
    const { lists, events } = await look({ allowLinkLocal: true }, { 'A shop.test': { records } })
    expect(ids(lists[0])).toHaveLength(4)
    expect(events).toEqual([])
  })

  test('also behind SRV, and wrapped in IPv6', async () => {
    const replies: Record<string, Reply> = {
      'SRV shop.test': {
        records: [
          { port: 80, target: 'a.test' },
          { port: 80, target: 'b.test' },
        ],
      },
      'A a.test': { records: ['169.254.169.254'] },
      'AAAA b.test': { records: ['::ffff:169.254.169.254', 'fe80::1', 'fd00::1'] },
    }
    const { lists } = await look({ kind: 'SRV' }, replies)
    expect(ids(lists[0])).toEqual(['[fd00::1]:80'])
  })

  test.each([
    ['169.254.0.0', true],
    ['169.253.255.255', false],
    ['0.1.2.3', true],
    ['fe80::1', true],
    ['febf::1', true],
    ['fec0::1', false],
    ['::', true],
    ['::1', false],
    ['::ffff:a9fe:a9fe', true],
    ['fd00:ec2::254', true],
    ['127.0.0.1', false],
  ])('%s: %s', (address, expected) => {
    expect(isOffLimits(address)).toBe(expected)
  })
})

describe('SRV', () => {
  const one = (records: Reply): Record<string, Reply> => ({
    'SRV shop.test': records,
    'A a.test': { records: ['10.0.0.1'] },
    'A b.test': { records: ['10.0.0.2', '10.0.0.3'] },
    'A c.test': { records: ['10.0.0.4'] },
  })

  test('the lowest priority only, weights with a mean of one, shared by the addresses of a target', async () => {
    const records = [
      { priority: 1, weight: 10, port: 1001, target: 'a.test' },
      { priority: 1, weight: 20, port: 1002, target: 'b.test' },
      { priority: 2, weight: 99, port: 1003, target: 'c.test' },
    ]
    const { lists, waits } = await look({ kind: 'SRV', interval: '7s' }, one({ records }))
    expect(lists[0]).toEqual([
      { id: '10.0.0.1:1001', weight: 1 },
      { id: '10.0.0.2:1002', weight: 1 },
      { id: '10.0.0.3:1002', weight: 1 },
    ])
    expect(waits).toEqual([7000])
  })

  test('a target that does not exist is left out; one whose server fails, fails the answer', async () => {
    const replies = one({
      records: [
        { port: 1, target: 'a.test' },
        { port: 1, target: 'gone.test' },
      ],
    })
    expect((await look({ kind: 'SRV' }, replies)).lists.map(ids)).toEqual([['10.0.0.1:1']])
    const failing = { ...replies, 'A gone.test': 'servfail' } as const
    expect((await look({ kind: 'SRV' }, failing)).errors).toMatchObject([{ code: 'ESERVFAIL' }])
  })

  test('"." says that there is none', async () => {
    const { lists } = await look({ kind: 'SRV' }, one({ records: [{ port: 0, target: '.' }] }))
    expect(lists).toEqual([[]])
  })

  test('what is foremost, and what weights become', () => {
    const record = (name: string, priority: number) => ({ name, priority, weight: 0, port: 1 })
    expect(foremost([])).toEqual([])
    expect(foremost([record('', 0), record('a', 5), record('b', 5), record('c', 9)]).map((r) => r.name)).toEqual([
      'a',
      'b',
    ])
    expect([
      ...scaled(
        new Map([
          ['a', 0],
          ['b', 0],
        ]),
      ).values(),
    ]).toEqual([1, 1])
    expect([
      ...scaled(
        new Map([
          ['a', 0],
          ['b', 100],
          ['c', 200],
        ]),
      ).values(),
    ]).toEqual([0.01, 1, 2])
    expect(scaled(new Map()).size).toBe(0)
  })
})

test('close() ends the question that is under way, and no answer comes', async () => {
  const server = await DnsServer.start()
  server.replies.set('A shop.test', 'silence')
  const discovery = dns({ name: 'shop.test', port: 80, servers: [server.address] })
  const heard: unknown[] = []
  discovery.start(
    (list) => void heard.push(list),
    (error) => void heard.push(error),
  )
  await vi.waitFor(() => expect(server.questions).not.toEqual([]), 10_000)
  discovery.close()
  discovery.close()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(heard).toEqual([])
})

test.each<[object, RegExp]>([
  [{}, /dns\.name: expected this field/],
  [{ name: 'a b', port: 1 }, /dns\.name: expected a DNS name/],
  [{ name: 'shop.test' }, /dns\.port: expected a port/],
  [{ name: 'shop.test', port: 70_000 }, /dns\.port: expected a port/],
  [{ name: 'shop.test', port: 80, kind: 'TXT' }, /dns\.kind: expected one of "A", "AAAA", "SRV"/],
  [{ name: 'shop.test', port: 80, interval: 0 }, /dns\.interval/],
])('%j is refused', (options, message) => {
  expect(() => dns(options as DnsOptions)).toThrow(message)
})

test('servers that are none are refused at once', () => {
  expect(() => dns({ name: 'shop.test', port: 80, servers: ['not an address'] })).toThrow(/not an address/)
})
