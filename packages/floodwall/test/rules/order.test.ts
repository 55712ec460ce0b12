import {
  adaptiveLimit,
  balance,
  breaker,
  bulkhead,
  type Call,
  deadline,
  gate,
  hedge,
  holdBack,
  isRejected,
  isTimeout,
  keyed,
  type Layer,
  overload,
  type Pipeline,
  pace,
  partitions,
  pipeline,
  queue,
  rateLimit,
  retry,
  Semaphore,
  shadow,
  throttle,
  timeout,
} from 'floodwall'
import { orderWarnings } from 'floodwall/rules'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

/** The order of docs/ordering.md. */
const usual = [
  deadline({ within: '800ms' }),
  retry({ attempts: 3 }),
  rateLimit({ rate: 500 }),
  queue({ atMost: '50ms' }),
  breaker({}),
  bulkhead({ slots: 64 }),
  timeout({ after: '250ms' }),
]

describe('orders that defeat themselves', () => {
  test('the usual one does not, nor the one for a list of endpoints, nor the door of a service', () => {
    expect(orderWarnings(usual)).toEqual([])
    const each = [breaker({}), bulkhead({ slots: 16 })]
    const spread = balance({ endpoints: [{ id: 'a' }], each })
    expect(orderWarnings([deadline({ within: '1s' }), retry(), spread, timeout({ after: '100ms' })])).toEqual([])
    const both = [deadline({ within: '1s' }), retry(), hedge(), holdBack(), spread, timeout({ after: '100ms' })]
    expect(orderWarnings(both)).toEqual([])
    expect(orderWarnings([hedge({ after: 50 }), timeout({ after: 100 })])).toEqual([])
    expect(orderWarnings([keyed({ of: rateLimit({ rate: 20 }) }), queue({}), bulkhead({ slots: 100 })])).toEqual([])
    expect(orderWarnings([])).toEqual([])
  })

  test('a pace where it belongs is nothing to warn of, nor are partitions', () => {
    const paced = [deadline({ within: '2s' }), pace({ rate: 50 }), breaker({}), timeout({ after: '500ms' })]
    expect(orderWarnings(paced)).toEqual([])
    expect(orderWarnings([deadline({ within: '2s' }), retry(), pace({ rate: 50 }), bulkhead({ slots: 4 })])).toEqual([])
    expect(orderWarnings([timeout({ after: '2s' }), pace({ rate: 50, atMost: '1s' })])).toEqual([])
    const divided = partitions({ of: bulkhead({ slots: 4 }), shares: { critical: 0.5 } })
    expect(orderWarnings([queue({}), divided, timeout({ after: '500ms' })])).toEqual([])
  })

  test.each<readonly [string, Layer[]]>([
    ['timeout > retry', [timeout({ after: 100 }), retry()]],
    ['retry > deadline', [retry(), deadline({ within: 100 })]],
    ['breaker > retry', [breaker(), retry()]],
    ['bulkhead > retry', [bulkhead({ slots: 1 }), retry()]],
    ['bulkhead > queue', [bulkhead({ slots: 1 }), queue({})]],
    ['breaker > queue', [breaker(), queue({})]],
    ['timeout > queue', [timeout({ after: 100 }), queue({})]],
    ['timeout > breaker', [timeout({ after: 100 }), breaker()]],
    ['timeout > bulkhead', [timeout({ after: 100 }), bulkhead({ slots: 1 })]],
    ['queue > rateLimit', [queue({}), rateLimit({ rate: 1 })]],
    ['retry > retry', [retry({ attempts: 3 }), retry({ attempts: 4 })]],
    ['hedge > retry', [hedge(), retry()]],
    ['hedge > deadline', [hedge(), deadline({ within: 100 })]],
    ['hedge > timeout', [hedge({ after: 250 }), timeout({ after: 250 })]],
    ['timeout > hedge', [timeout({ after: 100 }), hedge()]],
    ['breaker > hedge', [breaker(), hedge()]],
    ['throttle > retry', [throttle(), retry()]],
    ['queue > deadline', [queue({}), deadline({ within: 100 })]],
    ['deadline > deadline', [deadline({ within: 100 }), deadline({ within: 50 })]],
    ['holdBack > retry', [holdBack(), retry()]],
    ['holdBack > hedge', [holdBack(), hedge()]],
    ['deadline > timeout', [deadline({ within: 100 }), timeout({ after: 100 })]],
    ['breaker > timeout', [breaker({ slowAfter: '1s' }), timeout({ after: 100 })]],
    ['balance > bulkhead', [balance({ endpoints: [{ id: 'a' }] }), bulkhead({ slots: 1 })]],
    ['bulkhead > retry', [keyed({ of: bulkhead({ slots: 1 }) }), retry()]],
    ['breaker > retry', [shadow({ of: breaker() }), retry()]],
    ['bulkhead > retry', [partitions({ of: bulkhead({ slots: 4 }), shares: { critical: 0.5 } }), retry()]],
    ['bulkhead > queue', [partitions({ of: bulkhead({ slots: 4 }), shares: { critical: 0.5 } }), queue({})]],
    ['bulkhead > pace', [bulkhead({ slots: 1 }), pace({ rate: 1 })]],
    ['bulkhead > pace', [partitions({ of: bulkhead({ slots: 4 }), shares: { critical: 0.5 } }), pace({ rate: 1 })]],
    ['adaptiveLimit > pace', [adaptiveLimit(), pace({ rate: 1 })]],
    ['overload > pace', [overload(), pace({ rate: 1 })]],
    ['breaker > pace', [breaker(), pace({ rate: 1 })]],
    ['pace > retry', [pace({ rate: 1 }), retry()]],
    ['pace > hedge', [pace({ rate: 1 }), hedge()]],
    ['pace > deadline', [pace({ rate: 1 }), deadline({ within: 100 })]],
    ['pace > rateLimit', [pace({ rate: 1 }), rateLimit({ rate: 1 })]],
    ['timeout > pace', [timeout({ after: '1s' }), pace({ rate: 1, atMost: '1s' })]],
  ])('%s', (pair, layers) => {
    const warnings = orderWarnings(layers)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatchObject({ outer: 0, inner: 1 })
    expect(warnings[0]?.why).toMatch(new RegExp(`^${pair}: .{20,}`))
  })

  test('says how many attempts, and how long', () => {
    const slow = orderWarnings([deadline({ within: '500ms' }), retry({ attempts: 3 }), timeout({ after: '250ms' })])
    expect(slow.map(({ why }) => why)).toEqual([
      'deadline > retry: 3 attempts of 250ms take 750ms, and the deadline is over after 500ms',
    ])
  })
})

// Each statement of docs/ordering.md, as what happens.
describe('what the order does', () => {
  const runtime = new VirtualRuntime()
  const inOrder = (...layers: Layer[]): Pipeline => pipeline('order', layers, { runtime })
  const hang = ({ signal }: Call): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const fail = (): never => {
    throw new Error('broken')
  }
  const again = { idempotent: true }
  const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      (value) => value,
      (error: unknown) => error,
    )

  test('1: the deadline bounds attempts, backoffs and the queue together', async () => {
    const path = inOrder(
      deadline({ within: 300 }),
      retry({ attempts: 10, backoff: { first: 100 } }),
      timeout({ after: 90 }),
    )
    const since = runtime.now()
    const ended = outcomeOf(path.call(hang, again))
    await runtime.advance(300)
    expect(isTimeout(await ended) || runtime.now() - since <= 300).toBe(true)
    expect(path.inspect()['running']).toBe(0)
  })

  test('2: each attempt asks the gates anew, and one that is refused is not repeated', async () => {
    let ran = 0
    const path = inOrder(retry({ attempts: 5, backoff: { first: 1 } }), breaker({ atLeast: 2, failureRate: 0.5 }))
    const ended = outcomeOf(
      path.call(() => {
        ran++
        return fail()
      }, again),
    )
    await runtime.advance(100)
    // The second failure opened it; the third attempt was refused, and the caller hears the target's own error.
    expect(ran).toBe(2)
    expect(await ended).toMatchObject({ message: 'broken' })
  })

  test('2, the other way round: the breaker hears one word of three attempts', async () => {
    const path = inOrder(breaker({ atLeast: 3, failureRate: 0.5 }), retry({ attempts: 3, backoff: { first: 1 } }))
    const ended = outcomeOf(path.call(fail, again))
    await runtime.advance(100)
    await ended
    const [gate] = path.inspect()['layers'] as { state: string }[]
    expect(gate?.state).toBe('closed')
  })

  test('3: what is over the rate does not even wait', async () => {
    const path = inOrder(rateLimit({ rate: 1, burst: 1 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 }))
    const first = outcomeOf(path.call(hang))
    const second = await outcomeOf(path.call(() => 'ran'))
    expect(isRejected(second) && second.code).toBe('rate')
    path.close()
    void first
  })

  test('4: who waits in the queue holds nothing: no probe is lent to him', async () => {
    const slots = new Semaphore({ slots: 1 })
    const path = inOrder(
      queue({ atMost: '10s' }),
      breaker({ consecutive: 1, openFor: 100, jitter: 0, probes: 1 }),
      gate(slots),
    )
    await outcomeOf(path.call(fail))
    await runtime.advance(150)
    let release = (): void => {}
    const elsewhere = inOrder(gate(slots)).call(() => new Promise<void>((resolve) => void (release = resolve)))
    const waits = path.call(() => 'ran')
    const probes = (): unknown => (path.inspect()['layers'] as { probes?: object }[])[1]?.probes
    expect(probes()).toMatchObject({ running: 0, free: 1 })
    release()
    await runtime.advance(1)
    await elsewhere
    expect(await waits).toBe('ran')
  })

  test('5: the breaker hears of what hangs, by the timeout inside of it', async () => {
    const path = inOrder(breaker({ consecutive: 1 }), timeout({ after: 50 }))
    const ended = outcomeOf(path.call(hang))
    await runtime.advance(50)
    expect(isTimeout(await ended)).toBe(true)
    const [gate] = path.inspect()['layers'] as { state: string }[]
    expect(gate?.state).toBe('open')
  })

  test('6: the timeout frees the caller, and the slot stays taken until the work has ended', async () => {
    let end = (): void => {}
    const path = inOrder(bulkhead({ slots: 1 }), timeout({ after: 50 }))
    const ended = outcomeOf(path.call(() => new Promise<void>((resolve) => void (end = resolve))))
    await runtime.advance(50)
    expect(isTimeout(await ended)).toBe(true)
    const full = await outcomeOf(path.call(() => 'ran'))
    expect(isRejected(full) && full.code).toBe('full')
    end()
    await runtime.advance(1)
    expect(await path.call(() => 'ran')).toBe('ran')
  })

  test('6, and its late result is evidence for nobody: the timeout was', async () => {
    let end = (): void => {}
    const path = inOrder(breaker({ atLeast: 2, failureRate: 1 }), timeout({ after: 50 }))
    const ended = outcomeOf(path.call(() => new Promise<string>((resolve) => void (end = () => resolve('late')))))
    await runtime.advance(50)
    await ended
    end()
    await runtime.advance(1)
    const second = outcomeOf(path.call(hang))
    await runtime.advance(50)
    await second
    const [gate] = path.inspect()['layers'] as { state: string }[]
    expect(gate?.state).toBe('open')
  })

  test('7: the timeout next to the work measures the target, and not the wait before it', async () => {
    const path = inOrder(queue({ atMost: '10s' }), bulkhead({ slots: 1 }), timeout({ after: 50 }))
    let release = (): void => {}
    const first = outcomeOf(path.call(() => new Promise<void>((resolve) => void (release = resolve))))
    const second = path.call(() => 'in time')
    await runtime.advance(49)
    release()
    await runtime.advance(1)
    await first
    expect(await second).toBe('in time')
  })
})
