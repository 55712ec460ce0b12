import { breaker, bulkhead, deadline, type Layer, pipeline, queue, retry, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fateOf, layerOf, leftIn, NOTHING } from '../core/fate.ts'

// A library read a property of the rejection value and crashed on undefined; elsewhere an event path left a rejection that nobody handled,
// which ends a Node process. (brakes #118, opossum #282)

const loose: unknown[] = []
const note = (reason: unknown) => void loose.push(reason)

beforeAll(() => {
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
})

afterAll(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  process.off('uncaughtException', note)
  expect(loose).toEqual([])
})

const evil = Object.defineProperties(
  {},
  Object.fromEntries(
    ['name', 'message', 'code', 'retryAfterMs', 'noRetry', 'stack', 'constructor', 'status', 'cause'].map((field) => [
      field,
      {
        get() {
          throw new Error(`read ${field}`)
        },
      },
    ]),
  ),
) as object

const values: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['0', 0],
  ['NaN', Number.NaN],
  ['false', false],
  ['an empty string', ''],
  ['a string', 'x'],
  ['a Symbol', Symbol('s')],
  ['a bigint', 5n],
  ['a function', () => {}],
  ['a frozen object', Object.freeze({})],
  ['an object without a prototype', Object.create(null)],
  ['an object whose getters throw', evil],
  [
    'a proxy that throws at everything',
    new Proxy(
      {},
      {
        get(_, field) {
          if (field === 'then') return undefined
          throw new Error('trap')
        },
        has() {
          throw new Error('trap')
        },
      },
    ),
  ],
  ['an error', new Error('x')],
  ['an error that is frozen', Object.freeze(new Error('x'))],
]

const houses: [string, () => Layer[]][] = [
  ['no layers', () => []],
  ['a breaker alone', () => [breaker({ consecutive: 5 })]],
  [
    'many layers',
    () => [
      deadline({ within: '1s' }),
      retry({ attempts: 2, budget: { ratio: 0 } }),
      queue(),
      breaker({ consecutive: 5 }),
      bulkhead({ slots: 3 }),
      timeout({ after: 100 }),
    ],
  ],
]

describe.each(houses)('C04 with %s', (_, layers) => {
  const make = () => {
    const world = new VirtualRuntime()
    return { world, p: pipeline('p', layers(), { runtime: world }) }
  }

  test.each(values)(
    '%s: thrown, rejected, returned and resolved, it comes through by identity',
    async (_name, value) => {
      const { world, p } = make()
      const init = { idempotent: true }
      const fates = [
        fateOf(
          p.call(() => {
            throw value
          }, init),
        ),
        fateOf(p.call(() => Promise.reject(value), init)),
        fateOf(
          p.call(async () => {
            throw value
          }, init),
        ),
        fateOf(p.call(() => value, init)),
        fateOf(p.call(() => Promise.resolve(value), init)),
      ]
      await world.settle()
      expect(fates.map((f) => f.state)).toEqual(['failed', 'failed', 'failed', 'answered', 'answered'])
      expect(fates.every((f) => Object.is(f.value, value))).toBe(true)
      expect(p.inspect()['calls']).toMatchObject({ success: 2, failure: 3 })
      expect(leftIn(world, p)).toEqual(NOTHING)
    },
  )

  test('returned undefined is a success', async () => {
    const { p } = make()
    expect(await p.outcome(() => {})).toMatchObject({ ok: true, value: undefined, verdict: 'success' })
  })

  test('a thenable that calls both callbacks, twice, late, or throws: one settling, the first', async () => {
    const { world, p } = make()
    const thenables: [PromiseLike<unknown>, string, unknown][] = [
      [
        {
          then: (a: (v: unknown) => void, b: (v: unknown) => void) => {
            a('a')
            b('b')
            a('c')
          },
        } as never,
        'answered',
        'a',
      ],
      [
        {
          then: (a: (v: unknown) => void, b: (v: unknown) => void) => {
            b('b')
            a('a')
          },
        } as never,
        'failed',
        'b',
      ],
      [
        {
          then: (a: (v: unknown) => void) => {
            a('a')
            throw new Error('late')
          },
        } as never,
        'answered',
        'a',
      ],
      [
        {
          then: () => {
            throw 'thrown'
          },
        } as never,
        'failed',
        'thrown',
      ],
      [
        {
          then: (a: (v: unknown) => void) => {
            void world.after(10, () => {
              a('later')
              a('again')
            })
          },
        } as never,
        'answered',
        'later',
      ],
      [
        {
          then: (a: (v: unknown) => void) => {
            a({ then: (c: (v: unknown) => void) => c('nested') })
          },
        } as never,
        'answered',
        'nested',
      ],
    ]
    for (const [thenable, state, value] of thenables) {
      const fate = fateOf(p.call(() => thenable))
      await world.advanceAsync(20)
      expect([fate.state, fate.value]).toEqual([state, value])
    }
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a getter `then` that throws, and a `then` that is no function', async () => {
    const { world, p } = make()
    const error = new Error('getter')
    const thrown = fateOf(
      p.call(() => ({
        get then(): never {
          throw error
        },
      })),
    )
    const data = { then: 'tomorrow' }
    const plain = fateOf(p.call(() => data))
    await world.settle()
    expect([thrown.state, thrown.value === error, plain.state, plain.value === data]).toEqual([
      'failed',
      true,
      'answered',
      true,
    ])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('promises of other makes: a subclass, one of another realm, a frozen one', async () => {
    class Mine<T> extends Promise<T> {}
    const { world, p } = make()
    const { runInNewContext } = await import('node:vm')
    const works = [
      () => Mine.resolve('mine'),
      () => runInNewContext('Promise.resolve("theirs")') as Promise<string>,
      () => Object.freeze(Promise.resolve('frozen')),
    ]
    const fates = works.map((work) => fateOf(p.call(work)))
    await world.settle()
    expect(fates.map((f) => f.value)).toEqual(['mine', 'theirs', 'frozen'])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a late rejection of work that was given up is not unhandled', async () => {
    const { world, p } = make()
    const aborter = new AbortController()
    const fate = fateOf(
      p.call(() => new Promise((_resolve, reject) => void world.after(50, () => reject(new Error('late')))), {
        signal: aborter.signal,
      }),
    )
    aborter.abort('left')
    await world.advanceAsync(100)
    expect([fate.value, leftIn(world, p)]).toEqual(['left', NOTHING])
  })

  test('an error that is nobody’s business: rejected and not looked at by the caller for a while', async () => {
    const { world, p } = make()
    const promise = p.call(() => Promise.reject(new Error('x')))
    const handled = promise.catch(() => 'caught')
    await world.settle()
    expect(await handled).toBe('caught')
  })
})

test('C04 any mix of five failures trips a breaker of five', async () => {
  for (let start = 0; start < values.length; start++) {
    const world = new VirtualRuntime()
    const p = pipeline('p', [breaker({ consecutive: 5 }), timeout({ after: 100 })], { runtime: world })
    for (let i = 0; i < 5; i++) {
      expect(layerOf(p, 'breaker')['state']).toBe('closed')
      const [, value] = values[(start + i) % values.length] as (typeof values)[number]
      await p.outcome(() => {
        if (i % 2 === 0) throw value
        return Promise.reject(value)
      })
    }
    expect(layerOf(p, 'breaker')['state']).toBe('open')
  }
})

test('C04 listeners that throw, reject and remove themselves change no result', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [breaker({ consecutive: 5 })], { runtime: world })
  const heard: string[] = []
  p.on(() => {
    throw undefined
  })
  p.on((async () => {
    throw new Error('async')
  }) as never)
  const once = p.on(() => {
    heard.push('once')
    once[Symbol.dispose]()
  })
  p.on((event) => heard.push(event.type))
  for (let i = 0; i < 5; i++) {
    const fate = fateOf(p.call(() => Promise.reject(i)))
    await world.settle()
    expect(fate.value).toBe(i)
  }
  const refused = fateOf(p.call(() => 1))
  await world.settle()
  expect(refused.value).toMatchObject({ code: 'open' })
  expect([heard, p.inspect()['listenerFailures']]).toEqual([['once', 'state', 'refused'], 4])
})
