import cluster from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { type Gate, gate, pipeline, Rejection } from 'floodwall'
import { protect } from 'floodwall/http'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { AcceptProbe } from '../../src/server/accept-probe.ts'
import { Intake, intakeOf } from '../../src/server/intake.ts'
import { Signals } from '../../src/server/signals/index.ts'
import { ask, oneConnection, until } from '../adapters/client.ts'
import { Machine } from './signals/support/machine.ts'

// What when saying no is too much: a real server, and looks at it in virtual time.

async function house() {
  const world = new VirtualRuntime()
  const machine = new Machine()
  const signals = new Signals(world, machine)
  const release = signals.hold()
  const server: Server = createServer((_, response) => void response.end('ok'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const intake = new Intake(server, signals, world.env('door'))
  return {
    ...{ world, machine, signals, server, port, intake },
    /** Looks in which refusals took so many milliseconds of 250 (half of it measured), and the loop slept so many. */
    look(times: number, refusedMs: number, sleptMs = 0) {
      for (let i = 0; i < times; i++) {
        signals.touch()
        if (refusedMs > 0) intake.refused(refusedMs / 2)
        machine.idle += sleptMs
        world.advance(250)
      }
    },
    states: () => world.events.flatMap((event) => (event.type === 'state' ? [event.to] : [])),
    async [Symbol.asyncDispose]() {
      intake.close()
      release()
      machine[Symbol.dispose]()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A connection, and whether it was taken: what is not is closed before anything is said. */
async function knock(port: number): Promise<{ socket: Socket; taken: boolean }> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const taken = await new Promise<boolean>((resolve) => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
  return { socket, taken }
}

describe('new connections', () => {
  test('are not taken when refusals take half of a loop that is used up, for two looks', async () => {
    await using h = await house()
    const kept = await knock(h.port)
    h.look(1, 0)
    h.look(1, 130)
    expect(h.intake.shedding).toBe(false)
    h.look(1, 130)
    expect([h.intake.shedding, h.states()]).toEqual([true, ['shedding']])
    const doors = await Promise.all([knock(h.port), knock(h.port)])
    expect(doors.map(({ taken }) => taken)).toEqual([false, false])
    // Who is in stays in.
    kept.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(kept.socket, 'data')
    expect(h.intake.inspect(0)).toMatchObject({ shedding: true, times: 1, dropped: 2 })
    kept.socket.destroy()
  })

  test('are taken as long as there are places: fewer while refusals take half, more when the loop has time', async () => {
    await using h = await house()
    const { server } = h
    const knocks = await Promise.all(Array.from({ length: 8 }, () => knock(h.port)))
    h.look(1, 0)
    h.look(2, 130)
    expect([h.intake.shedding, server.maxConnections, h.intake.crowded]).toEqual([true, 6, true])
    // Who is refused closes.
    for (const { socket } of knocks.slice(4)) socket.destroy()
    await until(() => (h.intake.inspect(0) as { connected: number }).connected === 4)
    expect(h.intake.crowded).toBe(false)
    h.look(1, 130)
    expect([server.maxConnections, h.intake.crowded]).toEqual([3, true])
    // It is neither too much nor too little, and all are taken: room for somebody else.
    h.look(1, 100)
    expect([server.maxConnections, h.intake.crowded]).toEqual([5, false])
    expect((await knock(h.port)).taken).toBe(true)
    h.look(1, 100)
    expect([server.maxConnections, h.intake.crowded]).toEqual([7, false])
    // There is room.
    h.look(1, 100)
    expect(server.maxConnections).toBe(7)
    // It turns away so many that it has nothing to do.
    server.emit('drop', {})
    h.look(1, 100, 50)
    expect([h.intake.shedding, server.maxConnections, h.intake.crowded]).toEqual([true, 11, false])
    for (const { socket } of knocks) socket.destroy()
  })

  test.each([
    ['refusals are few', 120, 0],
    ['the loop has time', 200, 50],
  ])('are taken while %s', async (_, refused, slept) => {
    await using h = await house()
    h.look(20, refused, slept)
    expect([h.intake.shedding, h.states()]).toEqual([false, []])
  })

  test('one bad look between good ones is not enough', async () => {
    await using h = await house()
    h.look(1, 0)
    for (let i = 0; i < 10; i++) {
      h.look(1, 250)
      h.look(1, 0)
    }
    expect(h.states()).toEqual([])
  })

  test('are taken again after a second in which refusals, and who was turned away, would have taken less than a quarter', async () => {
    await using h = await house()
    h.look(4, 250)
    expect(h.intake.shedding).toBe(true)
    // Nobody is refused any more, but the flood knocks: at 250 ms a refusal one is enough.
    h.server.emit('drop', {})
    h.look(1, 0)
    h.look(3, 0)
    h.server.emit('drop', {})
    h.look(1, 0)
    expect([h.intake.shedding, h.states()]).toEqual([true, ['shedding']])
    h.look(4, 0)
    expect([h.intake.shedding, h.states()]).toEqual([false, ['shedding', 'taking']])
    expect((await knock(h.port)).taken).toBe(true)
  })

  test('looks go on until then, although no requests come; after that none is left', async () => {
    await using h = await house()
    h.look(4, 250)
    h.world.advance('10s')
    expect([h.intake.shedding, h.world.timers]).toEqual([false, 0])
  })

  test('the limit that the server had before comes back, also when the edge is closed meanwhile', async () => {
    await using h = await house()
    h.server.maxConnections = 77
    h.look(4, 250)
    expect(h.server.maxConnections).toBe(1)
    h.intake.close()
    expect([h.server.maxConnections, h.server.listenerCount('drop')]).toEqual([77, 0])
  })
})

test('two edges on one server have one intake: its limit is taken once, and comes back with the last', async () => {
  const world = new VirtualRuntime()
  using machine = new Machine()
  const signals = new Signals(world, machine)
  using _ = { [Symbol.dispose]: signals.hold() }
  const server = createServer()
  server.maxConnections = 77
  const [a, b] = [intakeOf(server, signals, world.env('a')), intakeOf(server, signals, world.env('b'))]
  for (let i = 0; i < 4; i++) {
    signals.touch()
    a.refused(125)
    b.refused(125)
    world.advance(250)
  }
  expect([a.shedding, b.shedding, server.maxConnections]).toEqual([true, true, 1])
  a.close()
  // Still.
  expect([b.shedding, server.maxConnections]).toEqual([true, 1])
  b.close()
  expect([server.maxConnections, server.listenerCount('drop')]).toEqual([77, 0])
  const next = intakeOf(server, signals, world.env('next'))
  expect([next === a, next.shedding, server.listenerCount('drop')]).toEqual([false, false, 1])
  next.close()
})

/** Refuses, and takes its time. */
class Dear implements Gate {
  readonly kind = 'dear'
  readonly path = 'door/dear'
  tryAcquire(): Rejection {
    for (const end = performance.now() + 2; performance.now() < end; );
    return new Rejection(this, 'overloaded', 0, 1, 1)
  }
  settled(): void {}
  cancelled(): void {}
  inspect() {
    return { kind: this.kind }
  }
}

test('a flood of refusals over real connections: who is refused is told to close, and new ones are turned away', async () => {
  const server = createServer()
  const guard = protect(pipeline('door', [gate(new Dear())]), () => {}, { connections: server })
  server.on('request', guard)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const intake = () => guard.inspect()['intake'] as { shedding: boolean; dropped: number; times: number }
  const agent = oneConnection()
  agent.maxSockets = 8
  const told = new Set<string | undefined>()
  let failed = 0
  let flooding = true
  const flood = async () => {
    while (flooding) {
      await ask({ port, agent }).then(
        ({ headers }) => told.add(headers.connection),
        () => failed++,
      )
    }
  }
  // One connection that is never refused, for which the flood must leave room: it sends nothing.
  const taken = once(server, 'connection')
  const still = connect(port, '127.0.0.1')
  await taken
  const floods = Promise.all(Array.from({ length: 8 }, flood))
  await until(() => intake().times === 1 && failed > 0 && told.has('close'), 15_000)
  expect(still.destroyed).toBe(false)
  flooding = false
  await floods
  await until(() => !intake().shedding, 15_000)
  expect(intake().dropped).toBeGreaterThan(0)
  expect((await ask({ port })).status).toBe(503)
  still.destroy()
  agent.destroy()
  await guard.close()
  expect(server.listenerCount('drop') + server.listenerCount('connection')).toBe(1)
  server.closeAllConnections()
  server.close()
})

test('options: connections is a server', () => {
  expect(() => protect(pipeline('p', []), () => {}, { connections: 80 as never })).toThrow(
    '[config] server.connections: expected a server, as createServer() returns it, got 80',
  )
})

describe('how long connections wait to be taken', () => {
  /** A connection each 20 ms, and so many turns of the loop for each, until there is a probe or `most` have come. */
  async function probed(turnsPerConnection: number, most: number) {
    const world = new VirtualRuntime()
    let turns = 0
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const probe = new AcceptProbe(server, world, () => turns)
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
})

describe('a probe that does not come', () => {
  /** Two that share a port as processes do: one is asked, the other takes all; `here` has a connection every 20 ms. */
  async function shared() {
    const world = new VirtualRuntime()
    const other = createServer()
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const here = new EventEmitter()
    let turns = 0
    const probe = new AcceptProbe(Object.assign(here, { address: () => other.address() }) as never, world, () => turns)
    return {
      ...{ world, other, probe, waited: () => probe.waitedMs(world.now()) },
      /** So long. */
      busy(ms: number) {
        for (let t = 0; t < ms; t += 20) {
          world.advance(20)
          turns++
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

  test('since another process took it counts nothing after 3 s, and none is sent for a minute', async () => {
    await using h = await shared()
    const came = once(h.other, 'connection') as Promise<[Socket]>
    h.busy(200)
    expect(h.probe.sent).toBe(1)
    const [taken] = await came
    await until(() => probeOf(h.probe)?.connecting === false)
    h.busy(2000)
    expect(h.waited()).toBeGreaterThan(1900)
    const over = once(taken, 'close')
    taken.resume()
    h.busy(1000)
    expect([h.waited(), h.probe.sent]).toEqual([0, 1])
    await over
    h.busy(55_000)
    expect([h.waited(), h.probe.sent, h.world.timers]).toEqual([0, 1, 0])
    h.busy(6000)
    expect(h.probe.sent).toBeGreaterThan(1)
  })

  test('and is closed there has ended', async () => {
    await using h = await shared()
    h.other.on('connection', (socket) => socket.end('HTTP/1.1 408 Request Timeout\r\n\r\n'))
    h.busy(200)
    await until(() => takenOf(h.probe))
    expect([h.probe.sent, h.waited(), h.world.timers]).toEqual([1, 0, 0])
  })

  test('into a queue that lets nobody in is given up after a second', async () => {
    await using h = await shared()
    h.busy(200)
    // The real loop has had no turn: it has not been let in.
    h.busy(1100)
    expect(h.waited()).toBeLessThan(300)
    h.busy(10_000)
    expect(h.waited()).toBeLessThanOrEqual(1000)
    expect(h.probe.sent).toBeGreaterThan(5)
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
