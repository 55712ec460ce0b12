import fc from 'fast-check'
import { type LocalTable, type LocalTableOptions, localBroadcast, localTable } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

type Rows = Iterable<readonly [string, number]>

/** A table over a source in the test's hands. */
class Hall {
  readonly world: VirtualRuntime
  readonly pending: { signal: AbortSignal; answer: (rows: Rows) => void; fail: (error: unknown) => void }[] = []
  readonly table: LocalTable<string, number>
  readonly begun: number[] = []

  constructor(options: Partial<LocalTableOptions<string, number>> = {}, world = new VirtualRuntime({ seed: 7 })) {
    this.world = world
    const load = (signal: AbortSignal) => {
      this.begun.push(world.now())
      return new Promise<Rows>((answer, fail) => this.pending.push({ signal, answer, fail }))
    }
    this.table = localTable({ load, jitter: 0, name: 'cities', ...options }, world)
  }

  async answer(rows: Rows): Promise<void> {
    this.pending.shift()?.answer(rows)
    await this.world.settle()
  }

  async fail(message: string): Promise<void> {
    this.pending.shift()?.fail(new Error(message))
    await this.world.settle()
  }

  get told(): string[] {
    return this.world.events.map((event) =>
      event.type === 'state'
        ? `${event.from} -> ${event.to}: ${event.why}`
        : `${event.type}: ${'why' in event ? event.why : ''}`,
    )
  }
}

const one: Rows = [['a', 1]]

describe('the first load', () => {
  test('before it the table says what to do; after it the rows are there', async () => {
    const hall = new Hall()
    const { table } = hall
    for (const read of [() => table.get('a'), () => table.size, () => table.snapshot(), () => table.has('a')])
      expect(read).toThrow('cities is not loaded yet: await its `ready`')
    expect([table.version, table.ageMs]).toEqual([0, Number.POSITIVE_INFINITY])
    await hall.answer(one)
    await table.ready
    expect([table.get('a'), table.get('b'), table.has('a'), table.size, [...table.entries()]]).toEqual([
      ...[1, undefined, true, 1],
      [['a', 1]],
    ])
    expect(hall.told).toEqual(['waiting -> fresh: 1 rows'])
  })

  test('fails: ready rejects, reading says why, and the next tries come by themselves', async () => {
    const hall = new Hall()
    const heard = expect(hall.table.ready).rejects.toThrow('down')
    await hall.fail('down')
    await heard
    expect(() => hall.table.get('a')).toThrow('cities is not loaded yet: down')
    await hall.world.advanceAsync('1s')
    await hall.answer(one)
    expect([hall.table.get('a'), hall.told]).toEqual([
      1,
      ['warning: nothing is loaded yet: down', 'waiting -> fresh: 1 rows'],
    ])
  })

  test('a load that throws at once, or gives what is no list of rows, has failed', async () => {
    for (const load of [
      () => fails(),
      () => 5 as unknown as Rows,
      () => ['ab'] as unknown as Rows,
      () => [['a']] as never,
    ]) {
      const table = localTable<string, number>({ load }, new VirtualRuntime())
      await expect(table.ready).rejects.toThrow(/bad|not iterable|row 1 is no \[key, value\]/)
      table.close()
    }
  })
})

describe('afterwards', () => {
  const loaded = async (options: Partial<LocalTableOptions<string, number>> = {}) => {
    const hall = new Hall(options)
    await hall.answer(one)
    return hall
  }

  test('it is loaded again, each time at a distance of its own', async () => {
    const hall = await loaded({ every: '1m', jitter: 0.2 })
    for (let i = 0; i < 50; i++) {
      await hall.world.advanceAsync('72s')
      await hall.answer(one)
    }
    const gaps = hall.begun.slice(1).map((at, i) => at - (hall.begun[i] as number))
    expect(hall.table.version).toBe(51)
    // Each was answered up to 24 s after it began: the time to the next counts from there.
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(48_000)
    expect(new Set(gaps).size).toBeGreaterThan(40)
  })

  test('a snapshot never changes; the table is swapped in one step', async () => {
    const hall = await loaded()
    const before = hall.table.snapshot()
    const reading = before.entries()
    hall.world.advance('1m')
    await hall.answer([
      ['b', 2],
      ['c', 3],
    ])
    expect([[...reading], before.get('b'), before.version]).toEqual([[['a', 1]], undefined, 1])
    expect([[...hall.table.snapshot()], hall.table.version, hall.table.has('a')]).toEqual([
      [
        ['b', 2],
        ['c', 3],
      ],
      2,
      false,
    ])
  })

  test('a failing source: the last good rows stay, the age grows, tries back off and never come more often than before', async () => {
    const hall = await loaded({ every: '8s' })
    hall.world.advance('8s')
    for (let i = 0; i < 12; i++) {
      await hall.fail('down')
      await hall.world.advanceAsync('8s')
      expect(hall.pending.length).toBe(1)
    }
    expect([hall.table.get('a'), hall.table.ageMs]).toEqual([1, 104_000])
    expect(hall.table.inspect()).toMatchObject({ state: 'kept', version: 1, rows: 1, failures: 12, fault: 'down' })
    expect(hall.told).toEqual(['waiting -> fresh: 1 rows', 'fresh -> kept: down; the last good rows are kept'])
    await hall.answer(one)
    expect([hall.table.ageMs, hall.table.version, hall.told.at(-1)]).toEqual([0, 2, 'kept -> fresh: 1 rows'])
  })

  test('a load that hangs ends after within, is aborted, and what it says later changes nothing', async () => {
    const hall = await loaded({ within: '5s' })
    const refreshed = expect(hall.table.refresh()).rejects.toThrow('[timeout] cities: no answer within 5s')
    await hall.world.advanceAsync('5s')
    await refreshed
    expect(hall.pending[0]?.signal.aborted).toBe(true)
    await hall.answer([['late', 9]])
    expect([hall.table.has('late'), hall.table.version]).toEqual([false, 1])
  })

  test('an empty table is one', async () => {
    const hall = await loaded()
    hall.world.advance('1m')
    await hall.answer([])
    expect([hall.table.size, hall.table.version]).toEqual([0, 2])
  })
})

describe('too large', () => {
  test('is refused loudly, without reading on, and the last good rows stay', async () => {
    const hall = new Hall({ most: 3 })
    await hall.answer(one)
    let read = 0
    function* endless(): Generator<[string, number]> {
      for (;;) yield [`k${read % 2}`, read++]
    }
    hall.world.advance('1m')
    await hall.answer(endless())
    expect([read, hall.table.size, hall.table.version]).toEqual([4, 1, 1])
    expect(hall.table.inspect()).toMatchObject({ state: 'kept', tooLarge: 1, fault: 'it has more than 3 rows' })
    expect(hall.told).toContain('warning: it has more than 3 rows, and is refused')
  })

  test('at the first load ready says so', async () => {
    const hall = new Hall({ weigh: (value, key) => value + key.length, mostWeight: 4 })
    const heard = expect(hall.table.ready).rejects.toThrow('it weighs more than 4 with row 2')
    await hall.answer([
      ['a', 2],
      ['b', 1],
    ])
    await heard
    expect(hall.table.inspect()).toMatchObject({ state: 'waiting', rows: 0, tooLarge: 1, ageMs: null })
  })

  test('what just fits is taken; what cannot be weighed is a fault of the load', async () => {
    const hall = new Hall({ weigh: (value) => value, mostWeight: 3, most: 2 })
    await hall.answer([
      ['a', 2],
      ['b', 1],
    ])
    expect(hall.table.inspect()).toMatchObject({ rows: 2, weight: 3 })
    const refreshed = expect(hall.table.refresh()).rejects.toThrow('row 1 weighs NaN')
    await hall.answer([['a', Number.NaN]])
    await refreshed
  })
})

describe('refresh', () => {
  test('however many ask while one load runs: one follows it, and they all wait for that one', async () => {
    const hall = new Hall()
    const asked = Array.from({ length: 100 }, () => hall.table.refresh())
    let done = 0
    for (const each of asked) void each.then(() => done++)
    await hall.answer(one)
    expect([hall.begun.length, done]).toEqual([2, 0])
    await hall.answer(one)
    expect([hall.begun.length, done, hall.table.version]).toEqual([2, 100, 2])
  })

  test('forced, it puts off the next load; it fails for who asked, and for nobody else', async () => {
    const hall = new Hall({ every: '1m' })
    await hall.answer(one)
    await hall.world.advanceAsync('50s')
    const refreshed = hall.table.refresh()
    await hall.answer(one)
    await refreshed
    await hall.world.advanceAsync('59s')
    expect(hall.begun).toEqual([0, 50_000])
    await hall.world.advanceAsync('1s')
    expect(hall.begun).toEqual([0, 50_000, 110_000])
  })

  test('everywhere: each of a hundred loads once, within a second, not all at once', async () => {
    const world = new VirtualRuntime({ seed: 8 })
    const broadcast = localBroadcast()
    const times: number[] = []
    const load = () => (times.push(world.now()), one)
    const tables = Array.from({ length: 100 }, () => localTable({ load, broadcast, name: 'cities' }, world))
    await Promise.all(tables.map(({ ready }) => ready))
    times.length = 0
    for (let i = 0; i < 5; i++) void tables[0]?.refresh({ everywhere: true })
    await world.advanceAsync('1s')
    expect(times.length).toBe(99 + 2)
    expect(new Set(times).size).toBeGreaterThan(90)
    for (const table of tables) table.close()
    expect([world.timers, broadcast.size]).toEqual([0, 0])
  })
})

describe('close', () => {
  test('ends the timer, aborts the load, tells those who wait, and leaves the rows', async () => {
    const hall = new Hall()
    await hall.answer(one)
    const waiting = [hall.table.refresh(), hall.table.refresh()].map((each) =>
      expect(each).rejects.toMatchObject({ code: 'closed', path: 'cities' }),
    )
    hall.table.close()
    hall.table.close()
    await Promise.all(waiting)
    expect([hall.world.timers, hall.pending[0]?.signal.aborted]).toEqual([0, true])
    await hall.answer([['late', 1]])
    await expect(hall.table.refresh()).rejects.toThrow('[closed] refused by cities: it was closed')
    expect([hall.table.get('a'), hall.table.has('late'), hall.world.timers]).toEqual([1, false, 0])
  })

  test('before the first load has ended: ready rejects', async () => {
    const hall = new Hall()
    hall.table.close()
    await expect(hall.table.ready).rejects.toMatchObject({ code: 'closed' })
    expect(hall.world.timers).toBe(0)
  })
})

const move = fc.oneof(
  fc.constantFrom('refresh' as const, 'heard' as const, 'answer' as const, 'fail' as const, 'large' as const),
  fc.integer({ min: 1, max: 70_000 }),
)

test('any history: one load at a time, versions count up, readers see whole tables, and close leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 30 }), async (moves) => {
      const broadcast = localBroadcast()
      const hall = new Hall({ broadcast, most: 2, every: '1m', within: '30s', jitter: 0.1 })
      const { table, world, pending } = hall
      let stored = 0
      let version = 0
      for (const now of moves) {
        if (now === 'refresh') table.refresh().catch(() => {})
        else if (now === 'heard') broadcast.publish('floodwall/localTable/cities', { from: 'x', do: 'refresh' })
        else if (now === 'answer') {
          stored++
          await hall.answer([
            ['a', stored],
            ['b', stored],
          ])
        } else if (now === 'fail') await hall.fail('down')
        else if (now === 'large') await hall.answer(new Map(['a', 'b', 'c'].map((key) => [key, -1])))
        else await world.advanceAsync(now)
        expect(pending.filter(({ signal }) => !signal.aborted).length).toBeLessThanOrEqual(1)
        expect(table.version).toBeGreaterThanOrEqual(version)
        version = table.version
        if (version > 0) expect(table.get('a')).toBe(table.get('b'))
        expect(world.timers).toBeGreaterThanOrEqual(1)
        expect(world.timers).toBeLessThanOrEqual(2)
      }
      table.close()
      await world.settle()
      expect([world.timers, broadcast.size]).toEqual([0, 0])
    }),
    { seed: 12, numRuns: 100 },
  )
})

test.each([
  [{ every: 0 }, 'localTable.every: expected a span'],
  [{ most: 0 }, 'localTable.most: expected a whole number from 1'],
  [{ load: [] }, 'localTable.load: expected a function'],
  [{ mostWeight: 5 }, 'localTable.weigh: expected this field, beside mostWeight'],
  [{ ttl: 5 }, 'localTable.ttl: expected no such field; known: load, every'],
])('options %o are refused', (wrong, message) => {
  expect(() => localTable({ load: () => one, ...wrong } as never)).toThrow(message)
})

function fails(): never {
  throw new Error('bad')
}
