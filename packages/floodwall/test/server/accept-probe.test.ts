import cluster from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { AcceptProbe } from '../../src/server/accept-probe.ts'
import { until } from '../adapters/client.ts'

describe('how long connections wait to be taken', () => {
  /** A connection each 20 ms, and so many turns of the loop for each, until there is a probe or `most` have come. */
  async function probed(turnsPerConnection: number, most: number) {
    const world = new VirtualRuntime()
    let turns = 0
    let idleMs = 0
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const probe = new AcceptProbe(server, world, { turns: () => turns, idleMs: () => idleMs })
    const sockets: Socket[] = []
    for (let i = 0; i < most && probe.sent === 0; i++) {
      world.advance(20)
      turns += turnsPerConnection
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      sockets.push(socket.on('error', () => {}))
      await once(server, 'connection')
    }
    return {
      ...{ probe, waited: () => probe.waitedMs(world.now()), pass: (ms: number) => world.advance(ms) },
      turn: (count: number) => (turns += count),
      sleep: (ms: number) => (idleMs += ms),
      async [Symbol.asyncDispose]() {
        probe.close()
        for (const socket of sockets) socket.destroy()
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      },
    }
  }

  test('is not asked where turns are more than connections', async () => {
    await using h = await probed(3, 20)
    expect([h.probe.sent, h.waited()]).toEqual([0, 0])
  })

  test('is asked by a connection of our own where each turn takes one: as long as it stands in line, then what it took, for a second', async () => {
    await using h = await probed(1, 20)
    expect([h.probe.sent, h.waited()]).toEqual([1, 0])
    h.pass(300)
    expect(h.waited()).toBe(300)
    // Its turn comes with the next of the real loop; what is measured is on our clock.
    await until(() => takenOf(h.probe))
    h.pass(600)
    expect(h.waited()).toBe(300)
    h.pass(600)
    expect(h.waited()).toBe(0)
  })

  test('a connection that nobody saw being taken has not waited here: it is older, or speaks TLS', async () => {
    await using h = await probed(1, 20)
    h.pass(300)
    expect([h.waited(), h.probe.isOlder(new Socket())]).toEqual([300, true])
  })

  test('what it took counts until the queue has been empty: turns that took nobody, or a loop that slept', async () => {
    for (const empty of ['turns', 'sleep'] as const) {
      await using h = await probed(1, 20)
      h.pass(300)
      await until(() => takenOf(h.probe))
      h.pass(10)
      h.turn(2)
      expect(h.waited()).toBe(300)
      if (empty === 'turns') h.turn(1)
      else h.sleep(5)
      expect(h.waited()).toBe(0)
    }
  })
})

describe('a probe that does not come', () => {
  /** Two that share a port as processes do: one is asked, the other takes all; `here` has a connection every 20 ms, and sleeps for `sleepMs` of them. */
  async function shared(sleepMs = 18) {
    const world = new VirtualRuntime()
    const other = createServer()
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const here = new EventEmitter()
    let turns = 0
    let idleMs = 0
    const loop = { turns: () => turns, idleMs: () => idleMs }
    const probe = new AcceptProbe(Object.assign(here, { address: () => other.address() }) as never, world, loop)
    return {
      ...{ world, other, probe, waited: () => probe.waitedMs(world.now()) },
      sleep: (ms: number) => (idleMs += ms),
      /** So long. */
      busy(ms: number) {
        for (let t = 0; t < ms; t += 20) {
          world.advance(20)
          turns++
          idleMs += sleepMs
          here.emit('connection', new Socket())
        }
      },
      async [Symbol.asyncDispose]() {
        probe.close()
        other.close()
        await once(other, 'close')
      },
    }
  }

  test('since another process took it counts nothing when the loop has slept, and none is sent for a minute', async () => {
    await using h = await shared()
    const came = once(h.other, 'connection') as Promise<[Socket]>
    h.busy(200)
    expect(h.probe.sent).toBe(1)
    const [taken] = await came
    await until(() => probeOf(h.probe)?.connecting === false)
    const over = once(taken, 'close')
    taken.resume()
    h.busy(1000)
    expect([h.waited(), h.probe.sent]).toEqual([0, 1])
    await over
    h.busy(58_000)
    expect([h.waited(), h.probe.sent, h.world.timers]).toEqual([0, 1, 0])
    h.busy(3000)
    expect(h.probe.sent).toBeGreaterThan(1)
  })

  test('for as long as each turn takes somebody and the loop never sleeps has waited so long: a queue of ten seconds is none to look away from', async () => {
    await using h = await shared(0)
    h.busy(200)
    await until(() => probeOf(h.probe)?.connecting === false)
    for (const seconds of [1, 3, 10, 30]) {
      h.busy(seconds * 1000)
      expect(h.waited()).toBeGreaterThan(seconds * 950)
    }
    // Not for ever: another one takes its place.
    h.busy(20_000)
    expect(h.waited()).toBeLessThan(20_000)
    expect([h.probe.sent, h.world.timers]).toEqual([2, 1])
  })

  test('and is closed there has ended', async () => {
    await using h = await shared()
    h.other.on('connection', (socket) => socket.end('HTTP/1.1 408 Request Timeout\r\n\r\n'))
    h.busy(200)
    await until(() => takenOf(h.probe))
    expect([h.probe.sent, h.waited(), h.world.timers]).toEqual([1, 0, 0])
  })

  test('into a queue that lets nobody in is given up when that is empty, and the next one goes at once', async () => {
    await using h = await shared(0)
    h.busy(200)
    // The real loop has had no turn: it has not been let in.
    h.busy(2000)
    expect(h.waited()).toBeGreaterThan(1900)
    expect(h.probe.sent).toBe(1)
    h.sleep(300)
    expect(h.waited()).toBe(0)
    h.busy(100)
    expect(h.probe.sent).toBe(2)
  })

  test('is not sent by the worker of a cluster', async () => {
    await using h = await shared()
    const { isWorker } = cluster
    const role = cluster as { isWorker: boolean }
    try {
      role.isWorker = true
      h.busy(5000)
      expect([h.probe.sent, h.waited()]).toEqual([0, 0])
    } finally {
      role.isWorker = isWorker
    }
  })
})

/** The probe has been taken. */
function takenOf(probe: AcceptProbe): boolean {
  return probeOf(probe) === undefined
}

function probeOf(probe: AcceptProbe): Socket | undefined {
  return (probe as unknown as { probe?: Socket }).probe
}
