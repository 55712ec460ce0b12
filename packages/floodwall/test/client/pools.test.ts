import { EventEmitter } from 'node:events'
import type { RequestListener } from 'node:http'
import { retry, systemRuntime } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { buildConnector } from 'undici'
import { describe, expect, test, vi } from 'vitest'
import { client } from '../../src/client/index.ts'
import { Pools } from '../../src/client/pools.ts'
import type { Connector, Undici } from '../../src/client/undici.ts'
import { connectionOf } from '../../src/client/unsent.ts'
import { open } from './support/shop.ts'

const ok: RequestListener = (_, res) => void res.end('ok')

describe('pools', () => {
  test('one for each endpoint, made with its first request, its connections used again', async () => {
    const { shop, servers } = await open([ok, ok])
    expect(shop.inspect().pools).toEqual([])
    for (let i = 0; i < 10; i++) await (await shop.fetch('/')).text()
    for (let i = 0; i < 10; i++) await (await shop.request({ path: '/' })).body.text()
    const ids = servers.map(({ id }) => id).sort()
    const pools = shop.inspect().pools as { id: string; connected: number }[]
    expect(pools.map(({ id }) => id).sort()).toEqual(ids)
    expect(servers.map((s) => s.connections())).toEqual([1, 1])
  })

  test('a dropped endpoint: what runs there ends as it would have, then its pool is closed', async () => {
    const ends: (() => void)[] = []
    const slow: RequestListener = (_, res) => {
      res.write('first,')
      ends.push(() => res.end('last'))
    }
    const { shop, cluster, servers } = await open([slow, ok])
    const [a, b] = cluster.members.map((m) => m.endpoint)
    if (a === undefined || b === undefined) throw new Error('two endpoints')
    cluster.update([a])
    const response = await shop.fetch('/')
    cluster.update([b])
    expect(shop.inspect().pools).toEqual([])
    expect(await (await shop.fetch('/')).text()).toBe('ok')
    expect(servers[0]?.connections()).toBe(1)
    for (const end of ends) end()
    expect(await response.text()).toBe('first,last')
    await vi.waitFor(() => expect(servers[0]?.connections()).toBe(0), 10_000)
    cluster.update([a])
    const again = shop.request({ path: '/' })
    await vi.waitFor(() => expect(ends).toHaveLength(2), 10_000)
    for (const end of ends) end()
    expect(await (await again).body.text()).toBe('first,last')
  })

  test('an id that moves to another address is another endpoint: nothing is sent to the old one', async () => {
    const { shop, cluster, servers } = await open([ok, ok])
    const at = (server: number) => [{ id: 'a', address: `http://${servers[server]?.id}` }]
    cluster.update(at(0))
    await (await shop.fetch('/')).text()
    cluster.isolate('a', 60_000, 'the test says so')
    cluster.update(at(1))
    expect(await (await shop.fetch('/')).text()).toBe('ok')
    await vi.waitFor(() => expect(servers.map((s) => s.connections())).toEqual([0, 1]), 10_000)
    expect(cluster.members.map((m) => m.isolated)).toEqual([false])
  })

  test('close() waits for what runs, and cuts it when that takes too long', async () => {
    let end = () => {}
    const slow: RequestListener = (_, res) => {
      res.write('first,')
      end = () => res.end('last')
    }
    const patient = await open([slow], { drain: '1m' })
    const response = await patient.shop.fetch('/')
    const closed = patient.shop.close()
    end()
    expect(await response.text()).toBe('first,last')
    await closed
    await vi.waitFor(() => expect(patient.servers[0]?.connections()).toBe(0), 10_000)
    const hasty = await open([slow], { drain: 1 })
    const cut = (await hasty.shop.fetch('/')).text()
    await Promise.all([hasty.shop.close(), expect(cut).rejects.toThrow()])
    await vi.waitFor(() => expect(hasty.servers[0]?.connections()).toBe(0), 10_000)
  })

  test('C38 an idle client does not keep the process alive, and a closed one leaves nothing', async () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
    const { shop, servers } = await open([ok])
    await (await shop.fetch('/')).text()
    // The server's side of the connection is held, ours is not.
    await vi.waitFor(() => {
      const held = process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length
      expect(held - before).toBe(servers[0]?.connections())
    }, 10_000)
    await shop.close()
    await vi.waitFor(() => expect(servers[0]?.connections()).toBe(0), 10_000)
    expect(process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length).toBe(before)
  })
})

/** An undici whose connections are never made. */
class Stuck extends EventEmitter {
  static options: Record<string, unknown> = {}
  static destroyed: unknown[] = []
  destroy(error: unknown): void {
    Stuck.destroyed.push(error)
  }
}

function stuck(connectMs: number): { world: VirtualRuntime; connect: Connector; asked: object[] } {
  const world = new VirtualRuntime()
  const asked: object[] = []
  const socket = new Stuck()
  Stuck.destroyed = []
  const undici = {
    Pool: class {
      constructor(_: string, options: Record<string, unknown>) {
        Stuck.options = options
      }
    },
    buildConnector(options: object): Connector {
      asked.push(options)
      return (_, connected) => {
        socket.destroy = (error: unknown) => {
          Stuck.destroyed.push(error)
          connected(error as Error, null)
        }
        return socket as never
      }
    },
  } as unknown as Undici
  const pool = { connections: 7, connect: { servername: 'shop.test' } }
  const pools = new Pools({ pool, connectMs }, world)
  // Somebody waits for the connection.
  void pools.send({ id: 'a:1' }, undici, new AbortController().signal, () => new Promise(() => {}))
  return { world, connect: Stuck.options.connect as Connector, asked }
}

describe('the time to connect', () => {
  test('is bounded by a timer of ours; what comes of it says that nothing was sent', () => {
    const { world, connect, asked } = stuck(80)
    expect(asked).toEqual([{ servername: 'shop.test', timeout: 0 }])
    expect(Stuck.options).toMatchObject({ connections: 7, pipelining: 1, keepAliveTimeout: 4000 })
    const heard: unknown[] = []
    connect({}, (error) => void heard.push(error))
    world.advance(79)
    expect(heard).toEqual([])
    world.advance(1)
    expect(heard).toMatchObject([{ code: 'ETIMEDOUT', message: 'no connection within 80ms' }])
    expect(connectionOf(heard[0])).toBe('none')
    expect(world.timers).toBe(0)
  })

  test('a few of them in a row isolate the endpoint, and the calls go elsewhere', async () => {
    // Whoever connects to the first server waits: a connector of ours stands for the network that swallows packets.
    const { shop, cluster, servers } = await open([ok, ok], { connectTimeout: 20 })
    const black = servers[0]?.port
    await shop.close()
    const real = buildConnector({}) as unknown as Connector
    const swallow: Connector = (options, connected) => {
      if (Number((options as { port: string }).port) !== black) return real(options, connected)
      const error = Object.assign(new Error('no connection within 20ms'), { code: 'ETIMEDOUT', syscall: 'connect' })
      systemRuntime.after(20, () => connected(error, null))
      return new Stuck() as never
    }
    const again = client('shop', cluster, [retry({ backoff: { first: 1 } })], { pool: { connect: swallow }, drain: 1 })
    for (let i = 0; i < 8; i++) expect((await again.fetch('/', { method: 'POST' })).status).toBe(200)
    expect(cluster.members.map((m) => m.isolated)).toEqual([true, false])
    await again.close()
  })
})
