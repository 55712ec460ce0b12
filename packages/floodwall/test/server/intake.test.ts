import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { type Gate, gate, pipeline, Rejection } from 'floodwall'
import { protect } from 'floodwall/http'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
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
    /** Looks in which refusals took so many milliseconds of 250 (a seventh of it measured), and the loop slept so many. */
    look(times: number, refusedMs: number, sleptMs = 0) {
      for (let i = 0; i < times; i++) {
        signals.touch()
        if (refusedMs > 0) intake.refused(refusedMs / 7)
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
    expect([h.intake.shedding, server.maxConnections]).toEqual([true, 6])
    for (const { socket } of knocks.slice(4)) socket.destroy()
    await until(() => (h.intake.inspect(0) as { connected: number }).connected === 4)
    h.look(1, 130)
    expect(server.maxConnections).toBe(3)
    // It is neither too much nor too little, and all are taken: room for somebody else.
    h.look(1, 100)
    expect(server.maxConnections).toBe(5)
    expect((await knock(h.port)).taken).toBe(true)
    h.look(1, 100)
    expect(server.maxConnections).toBe(7)
    // There is room.
    h.look(1, 100)
    expect(server.maxConnections).toBe(7)
    // It turns away so many that it has nothing to do.
    server.emit('drop', {})
    h.look(1, 100, 50)
    expect([h.intake.shedding, server.maxConnections]).toEqual([true, 11])
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

describe('the limit of the server', () => {
  test('changed meanwhile, it holds at once where it is the smaller one, and comes back as it is now', async () => {
    await using h = await house()
    const knocks = await Promise.all(Array.from({ length: 8 }, () => knock(h.port)))
    h.intake.allow(77)
    expect(h.server.maxConnections).toBe(77)
    h.look(1, 0)
    h.look(2, 130)
    expect([h.intake.shedding, h.server.maxConnections]).toEqual([true, 6])
    h.intake.allow(50)
    expect(h.server.maxConnections).toBe(6)
    h.intake.allow(4)
    expect(h.server.maxConnections).toBe(4)
    h.intake.allow(60)
    h.look(8, 0)
    expect([h.intake.shedding, h.server.maxConnections]).toEqual([false, 60])
    for (const { socket } of knocks) socket.destroy()
  })

  test('places never are more than it has, however much time the loop has', async () => {
    await using h = await house()
    h.server.maxConnections = 10
    const knocks = await Promise.all(Array.from({ length: 8 }, () => knock(h.port)))
    h.look(1, 0)
    h.look(2, 130)
    expect(h.server.maxConnections).toBe(6)
    // Who is turned away would take it all: it goes on.
    for (let i = 0; i < 5; i++) {
      for (let drop = 0; drop < 4; drop++) h.server.emit('drop', {})
      h.look(1, 60, 200)
    }
    expect([h.intake.shedding, h.server.maxConnections]).toEqual([true, 10])
    for (const { socket } of knocks) socket.destroy()
  })
})

test('a connection that is handed to the server a second time is one', async () => {
  await using h = await house()
  const accepted = once(h.server, 'connection')
  const { socket } = await knock(h.port)
  const [theirs] = await accepted
  h.server.emit('connection', theirs)
  expect(h.intake.inspect()).toMatchObject({ connected: 1 })
  socket.destroy()
  await until(() => h.intake.inspect().connected === 0)
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
  // Its own, and its probe's.
  expect([next === a, next.shedding, server.listenerCount('drop')]).toEqual([false, false, 2])
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

test('a flood of refusals: kept connections are kept, since a new one would cost more; of those that come anew some are turned away', async () => {
  const server = createServer()
  const guard = protect(pipeline('door', [gate(new Dear())]), () => {}, { connections: server })
  server.on('request', guard)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const intake = () => guard.inspect()['intake'] as { shedding: boolean; dropped: number; times: number }
  const agent = oneConnection()
  // Few: the first refusal of each is one on a new connection.
  agent.maxSockets = 2
  const told = new Set<string | undefined>()
  let failed = 0
  let flooding = true
  const flood = async (kept: boolean) => {
    while (flooding) {
      await ask(kept ? { port, agent } : { port }).then(
        ({ status, headers }) => kept && told.add(`${status} ${headers.connection}`),
        () => failed++,
      )
    }
  }
  const onKept = Promise.all(Array.from({ length: 2 }, () => flood(true)))
  // Time enough for eight looks, in all of which refusals take the whole loop.
  await new Promise((resolve) => setTimeout(resolve, 2000))
  expect([intake().times, failed, [...told]]).toEqual([0, 0, ['503 keep-alive']])
  flooding = false
  await onKept
  flooding = true
  const anew = Promise.all(Array.from({ length: 8 }, () => flood(false)))
  await until(() => intake().times === 1 && failed > 0, 15_000)
  // They are still served.
  expect((await ask({ port, agent })).status).toBe(503)
  flooding = false
  await anew
  await until(() => !intake().shedding, 15_000)
  expect(intake().dropped).toBeGreaterThan(0)
  expect((await ask({ port })).status).toBe(503)
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
