import { type Call, type Done, deadline, type Outcome, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Attempt } from '../src/gateway/exchange/attempt.ts'
import { Exchange } from '../src/gateway/exchange/exchange.ts'
import type { Upstream } from '../src/gateway/upstreams/upstream.ts'

// Is there time to ask a server when the client's body is here at last, and to ask it once more when its connection was gone? In virtual time,
// since the way back is 5 ms and the least that can be told is 1 ms.

const WITHIN_MS = 100

/** An attempt under a deadline of 100 ms, what its upstream was asked for, and how it ended. */
class World {
  readonly runtime = new VirtualRuntime()
  /** What is left, as the server was told. */
  readonly sent: (readonly [how: 'dispatch' | 'redo', left: string | undefined])[] = []
  ended = 0
  outcome: Outcome<unknown> | undefined
  attempt!: Attempt
  readonly exchange = {
    latest: null,
    head: { path: '/', method: 'GET', lines: [], said: { aliases: [] } },
    body: null,
    offer: null,
    route: { config: { limits: {}, propagate: true }, attemptsText: () => undefined },
    repeatable: true,
    send: Exchange.prototype.send,
  }

  constructor() {
    const note =
      (how: 'dispatch' | 'redo') =>
      ({ headers }: { headers: string[] }): void =>
        void this.sent.push([how, headers[headers.indexOf('x-floodwall-timeout-ms') + 1]])
    const upstream = {
      base: '',
      dispatch: note('dispatch'),
      redo: note('redo'),
      ended: () => this.ended++,
      broke: () => {},
      failed: () => {},
    }
    const work = (call: Call, done: Done): void => {
      this.attempt = new Attempt(this.exchange as unknown as Exchange, call, upstream as unknown as Upstream, done)
    }
    pipeline('p', [deadline({ within: WITHIN_MS })], { runtime: this.runtime }).start(work, (outcome) => {
      this.outcome = outcome
    })
  }

  send(): void {
    this.exchange.send.call(this.exchange as unknown as Exchange, this.attempt)
  }

  /** A connection breaks before a word of an answer. */
  reset(served = 1, heard = false): void {
    this.attempt.connection = { served, heard, fault: null } as unknown as Attempt['connection']
    this.attempt.onResponseError(undefined, Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  }
}

describe('an attempt that had to wait for the body of its request', () => {
  test.each([
    [0, '95'],
    [94, '1'],
  ])('is sent after %d ms, and the server is told %s', (waited, left) => {
    const world = new World()
    world.runtime.advance(waited)
    world.send()
    expect([world.sent, world.outcome]).toEqual([[['dispatch', left]], undefined])
  })

  test.each([94.5, 95, 99])('is not sent after %d ms: a refusal, of which the server knows nothing', (waited) => {
    const world = new World()
    world.runtime.advance(waited)
    world.send()
    expect([world.sent, world.ended]).toEqual([[], 1])
    expect(world.outcome).toMatchObject({
      ran: false,
      rejection: { reason: 'deadline', value: WITHIN_MS - waited, limit: 6, never: true },
    })
    // It is over, and stays so.
    world.send()
    expect([world.sent, world.ended, world.attempt.isOver]).toEqual([[], 1, true])
  })
})

describe('an attempt whose kept connection was gone', () => {
  test('is sent once more while there is time, and the server is told what is left now', () => {
    const world = new World()
    world.send()
    world.runtime.advance(94)
    world.reset()
    expect(world.sent).toEqual([
      ['dispatch', '95'],
      ['redo', '1'],
    ])
    expect([world.outcome, world.ended]).toEqual([undefined, 0])
  })

  test.each<[string, (world: World) => void]>([
    [
      'there is no time left',
      (world) => {
        world.runtime.advance(94.5)
        world.reset()
      },
    ],
    [
      'it may not run twice',
      (world) => {
        world.exchange.repeatable = false
        world.reset()
      },
    ],
    ['the connection was new', (world) => world.reset(0)],
    ['an answer had begun', (world) => world.reset(1, true)],
  ])('fails where %s', (_why, act) => {
    const world = new World()
    world.send()
    act(world)
    expect(world.sent).toHaveLength(1)
    expect(world.outcome).toMatchObject({ ok: false, verdict: 'failure' })
    expect(world.outcome?.rejection).toBeUndefined()
  })
})
