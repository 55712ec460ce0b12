import { bulkhead, type Permit, Semaphore } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/core/schema.ts'
import { admitted, offered, rejected, VERDICTS } from '../support/asks.ts'

function semaphore(slots: number): Semaphore {
  return new Semaphore({ slots }, new VirtualRuntime().env('peer/bulkhead'))
}

describe('slots', () => {
  test('the first, the last and the one too many', () => {
    const gate = semaphore(2)
    admitted(gate, 0)
    const last = admitted(gate, 0)
    const no = rejected(gate, 0)
    expect(no).toMatchObject({ reason: 'full', retryAfterMs: 0, value: 2, limit: 2, never: false })
    expect(no.why).toBe('2 of 2 slots are taken')
    last.settle('success', 1, 0)
    admitted(gate, 0)
  })

  test.each([...VERDICTS, 'cancel'] as const)('a slot comes back at the end, whatever it was: %s', (end) => {
    const gate = semaphore(1)
    for (let i = 0; i < 3; i++) {
      const permit = admitted(gate, 0)
      expect(gate.available).toBe(0)
      if (end === 'cancel') permit.cancel(0)
      else permit.settle(end, 5, 0)
      expect(gate.available).toBe(1)
    }
  })

  test('0 closes it: nobody ever passes, and waiting makes no sense', () => {
    expect(rejected(semaphore(0), 0)).toMatchObject({ reason: 'full', never: true, value: 0, limit: 0 })
  })

  test('time has no say: a slot is held for 30 days if the work takes them', () => {
    const gate = semaphore(1)
    const permit = admitted(gate, 0)
    rejected(gate, 2_592_000_000)
    permit.settle('success', 2_592_000_000, 2_592_000_000)
    admitted(gate, 0)
  })

  test('it holds, and it is idle when nobody is inside', () => {
    const gate = semaphore(1)
    expect([gate.holds, gate.idle()]).toEqual([true, true])
    const permit = admitted(gate, 0)
    expect(gate.idle()).toBe(false)
    permit.cancel(0)
    expect(gate.idle()).toBe(true)
  })

  test('inspect() keeps the schema, and knows the most that were ever inside', () => {
    const gate = semaphore(5)
    for (const permit of offered(gate, 3, 0)) permit.cancel(0)
    admitted(gate, 0)
    gate.onFree(() => {})
    const shown = { kind: 'bulkhead', path: 'peer/bulkhead', slots: 5, used: 1, most: 3, rooms: 1 }
    expect(parse(bulkhead.snapshot, gate.inspect(), 'inspect()')).toEqual(shown)
  })
})

describe('C17 permits end once', () => {
  test('C17 a double release does nothing, in any mixture', () => {
    const gate = semaphore(2)
    const [first, second] = offered(gate, 2, 0)
    first?.settle('success', 1, 0)
    first?.settle('failure', 1, 0)
    first?.cancel(0)
    expect(gate.available).toBe(1)
    second?.cancel(0)
    second?.cancel(0)
    second?.settle('success', 1, 0)
    expect(gate.available).toBe(2)
    expect(offered(gate, 9, 0)).toHaveLength(2)
  })

  test('C17 a foreign release raises no capacity: a permit goes to its own gate', () => {
    const [ours, theirs] = [semaphore(2), semaphore(2)]
    offered(ours, 2, 0)
    for (const permit of offered(theirs, 2, 0)) permit.settle('success', 1, 0)
    expect([ours.available, theirs.available]).toEqual([0, 2])
    rejected(ours, 0)
  })

  test('C17 10,000 double releases leave the capacity whole', () => {
    const gate = semaphore(3)
    for (let i = 0; i < 10_000; i++) {
      const permit = admitted(gate, 0)
      permit.settle('timeout', 1, 0)
      permit.settle('timeout', 1, 0)
    }
    expect([gate.available, gate.limit]).toEqual([3, 3])
  })

  test('C17 work that outlives its timeout holds its slot until it has ended', () => {
    const gate = semaphore(2)
    const works = offered(gate, 2, 0)
    // The callers have left at 100; the permits are ended when the works are, at 1000.
    expect(offered(gate, 2, 150)).toHaveLength(0)
    for (const work of works) work.settle('timeout', 1000, 1000)
    expect(offered(gate, 2, 1100)).toHaveLength(2)
  })
})

describe('C16 waiters who have left get nothing', () => {
  test('C16 B waits, gives up at 50; A releases at 100; C at 110 is admitted', () => {
    const gate = semaphore(1)
    const a = admitted(gate, 0)
    let woken = 0
    const giveUp = gate.onFree(() => woken++)
    giveUp()
    a.settle('success', 100, 100)
    expect([woken, gate.available]).toEqual([0, 1])
    admitted(gate, 110)
  })

  test('C16 8 waiters time out against capacity 8: then 8 calls pass', () => {
    const gate = semaphore(8)
    const inside = offered(gate, 8, 0)
    const stops = Array.from({ length: 8 }, () => gate.onFree(() => expect.unreachable('woken after it had left')))
    for (const stop of stops) stop()
    for (const permit of inside) permit.settle('success', 1, 0)
    expect(offered(gate, 9, 0)).toHaveLength(8)
  })

  test('C16 10,000 waiters who left leave nothing behind', () => {
    const gate = semaphore(1)
    admitted(gate, 0)
    for (let i = 0; i < 10_000; i++) gate.onFree(() => {})()
    expect(gate.inspect()).toMatchObject({ rooms: 0, used: 1 })
  })

  test.each(['the release first', 'the abort first'])(
    'C16 abort and release in one tick, %s: the slot is never lost',
    (order) => {
      const gate = semaphore(1)
      const a = admitted(gate, 0)
      let b: Permit | undefined
      const stop = gate.onFree(() => {
        b = admitted(gate, 0)
      })
      if (order === 'the abort first') stop()
      a.settle('success', 1, 0)
      if (order === 'the release first') {
        // B has the slot and leaves: it gives it back.
        expect(gate.available).toBe(0)
        stop()
        b?.cancel(0)
      }
      expect([gate.available, b === undefined]).toEqual([1, order === 'the abort first'])
      admitted(gate, 0)
    },
  )
})

describe('onFree', () => {
  test('wakes after the slot is free, once per end', () => {
    const gate = semaphore(1)
    const seen: number[] = []
    gate.onFree(() => seen.push(gate.available))
    admitted(gate, 0).settle('success', 1, 0)
    admitted(gate, 0).cancel(0)
    expect(seen).toEqual([1, 1])
  })

  test('several rooms are woken in turn, and all of them while slots are left', () => {
    const gate = semaphore(1)
    const order: string[] = []
    let holder = admitted(gate, 0)
    for (const room of ['a', 'b', 'c']) {
      gate.onFree(() => {
        order.push(room)
        holder = admitted(gate, 0)
      })
    }
    for (let i = 0; i < 6; i++) holder.settle('success', 1, 0)
    expect(order.slice(0, 3).sort()).toEqual(['a', 'b', 'c'])
    expect(order.slice(3)).toEqual(order.slice(0, 3))
  })

  test('a room that wants nothing does not keep the others from being woken', () => {
    const gate = semaphore(1)
    const woken: string[] = []
    for (const room of ['a', 'b', 'c']) gate.onFree(() => woken.push(room))
    admitted(gate, 0).cancel(0)
    expect(woken.sort()).toEqual(['a', 'b', 'c'])
  })

  test('who is woken may stop another, and who has stopped is not woken', () => {
    const gate = semaphore(1)
    const woken: string[] = []
    const stops = new Map<string, () => void>()
    for (const room of ['a', 'b']) {
      const other = room === 'a' ? 'b' : 'a'
      stops.set(
        room,
        gate.onFree(() => {
          woken.push(room)
          stops.get(other)?.()
        }),
      )
    }
    admitted(gate, 0).cancel(0)
    expect(woken).toHaveLength(1)
  })

  test('one function that came twice leaves once by each handle, and each handle works once', () => {
    const gate = semaphore(1)
    let woken = 0
    const wake = () => void woken++
    const [first, second] = [gate.onFree(wake), gate.onFree(wake)]
    first()
    first()
    admitted(gate, 0).cancel(0)
    expect([woken, gate.inspect()['rooms']]).toEqual([1, 1])
    second()
    admitted(gate, 0).cancel(0)
    expect([woken, gate.inspect()['rooms']]).toEqual([1, 0])
  })

  test('a waker that takes the slot and ends at once is no endless loop', () => {
    const gate = semaphore(1)
    let left = 1000
    gate.onFree(() => {
      if (left-- > 0) admitted(gate, 0).settle('success', 0, 0)
    })
    admitted(gate, 0).settle('success', 0, 0)
    expect(gate.available).toBe(1)
  })
})

describe('resize', () => {
  test('more slots wake waiters at once', () => {
    const gate = semaphore(1)
    admitted(gate, 0)
    const got: number[] = []
    gate.onFree(() => got.push(offered(gate, 9, 0).length))
    gate.resize(3)
    expect([got, gate.available]).toEqual([[2], 0])
  })

  test('fewer take effect as calls end: nobody is thrown out', () => {
    const gate = semaphore(3)
    const inside = offered(gate, 3, 0)
    gate.resize(1)
    expect([gate.available, gate.limit]).toEqual([-2, 1])
    expect(rejected(gate, 0)).toMatchObject({ value: 3, limit: 1 })
    inside[0]?.settle('success', 1, 0)
    inside[1]?.settle('success', 1, 0)
    rejected(gate, 0)
    inside[2]?.settle('success', 1, 0)
    expect(offered(gate, 9, 0)).toHaveLength(1)
  })

  test('while a lowered limit drains, ends wake nobody', () => {
    const gate = semaphore(2)
    const [first] = offered(gate, 2, 0)
    gate.onFree(() => expect.unreachable('there is no slot'))
    gate.resize(1)
    first?.cancel(0)
  })

  test('to 0 and back', () => {
    const gate = semaphore(2)
    const [inside] = offered(gate, 1, 0)
    gate.resize(0)
    expect(rejected(gate, 0).never).toBe(true)
    inside?.settle('success', 1, 0)
    gate.resize(2)
    expect(offered(gate, 9, 0)).toHaveLength(2)
  })

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3', null, undefined])(
    'to %s is refused, and changes nothing',
    (slots) => {
      const gate = semaphore(2)
      expect(() => gate.resize(slots as number)).toThrow('bulkhead.slots: expected a whole number from 0')
      expect(gate.limit).toBe(2)
    },
  )

  test('C36 (e) a reload keeps who is inside: never 4 + 4', () => {
    const world = new VirtualRuntime()
    const before = bulkhead({ slots: 4 }).build(world.env('peer/bulkhead')) as Semaphore
    const inside = offered(before, 3, 0)
    const after = bulkhead({ slots: 5 }).build(world.env('peer/bulkhead'), before) as Semaphore
    expect(after).toBe(before)
    expect(offered(after, 9, 0)).toHaveLength(2)
    for (const permit of inside) permit.settle('success', 1, 0)
    expect(after.available).toBe(3)
  })
})
