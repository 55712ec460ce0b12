import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import {
  breaker,
  bulkhead,
  ConfigError,
  isConfigError,
  isRejected,
  isTimeout,
  pipeline,
  RejectedError,
  Rejection,
  rateLimit,
  TimeoutError,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, hangs } from './fate.ts'

// Three errors: nothing ran, something may have, the options were wrong. Each prints its code first.

const gate = { kind: 'k', path: 'inventory/k' }

describe('RejectedError', () => {
  test.each([
    [new Rejection(gate, 'open', 2000, 12, 0.5), '[open] refused by inventory/k: open; try again in 2s'],
    [new Rejection(gate, 'full', 0, 64, 64), '[full] refused by inventory/k: full'],
    [new Rejection(gate, 'rate', 0, 1, 9, true), '[rate] refused by inventory/k: rate; it can never pass'],
  ])('says %o as %s', (rejection, message) => {
    const error = new RejectedError(rejection)
    expect(error.message).toBe(message)
    expect([error.code, error.path, error.retryAfterMs, error.name]).toEqual([
      rejection.reason,
      'inventory/k',
      rejection.retryAfterMs,
      'RejectedError',
    ])
    expect(String(error)).toBe(`RejectedError: ${message}`)
    expect(inspect(error)).toContain(message)
    expect(error).toBeInstanceOf(Error)
  })

  test('of a pipeline names the layer and its numbers, and has no stack of ours', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('shop', [rateLimit({ rate: 1, burst: 2 })], { runtime: world })
    await p.call(() => 1)
    await p.call(() => 1)
    const error = await p.call(() => 1).catch((e: unknown) => e as RejectedError)
    expect(error).toMatchObject({
      message: '[rate] refused by shop/rateLimit: costs 1, 0 of 2 left; one more each 1s; try again in 1s',
      stack: expect.not.stringContaining('\n    at '),
    })
  })

  test('leaves Error.stackTraceLimit as it was', async () => {
    const before = Error.stackTraceLimit
    await fateOf(pipeline('p', [bulkhead({ slots: 0 })], { runtime: new VirtualRuntime() }).call(() => 1))
    expect(Error.stackTraceLimit).toBe(before)
  })
})

test('TimeoutError says who gave how long', async () => {
  const world = new VirtualRuntime()
  const fate = fateOf(pipeline('shop', [timeout({ after: '1.5s' })], { runtime: world }).call(hangs))
  await world.advanceAsync('2s')
  expect(fate.value).toBeInstanceOf(TimeoutError)
  expect(fate.value).toMatchObject({
    name: 'TimeoutError',
    code: 'timeout',
    path: 'shop/timeout',
    afterMs: 1500,
    message: '[timeout] shop/timeout: no answer within 1.5s',
  })
})

test('ConfigError lists every fault in one line each', () => {
  const error = new ConfigError([
    { path: 'a.b', value: '1', expected: 'two' },
    { path: 'c', value: '"x"', expected: 'a number' },
  ])
  expect(error.message).toBe('[config] a.b: expected two, got 1; c: expected a number, got "x"')
  expect([error.code, error.name, error.issues.length]).toEqual(['config', 'ConfigError', 2])
})

describe('predicates', () => {
  const ours = [
    new RejectedError(new Rejection(gate, 'open', 0, 0, 0)),
    new TimeoutError('deadline', 'p', 1),
    new ConfigError([]),
  ]

  test('know their own kind, and no other', () => {
    expect(ours.map((e) => [isRejected(e), isTimeout(e), isConfigError(e)])).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ])
  })

  test.each([
    undefined,
    null,
    0,
    '',
    'RejectedError',
    Symbol('x'),
    {},
    [],
    () => {},
    new Error('x'),
    { name: 'RejectedError', code: 'open' },
  ])('say no to %s', (value) => {
    expect([isRejected(value), isTimeout(value), isConfigError(value)]).toEqual([false, false, false])
  })

  test('work across two copies of the package', () => {
    // A process that loads the module twice, under two addresses, as a duplicated dependency would.
    const source = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
    const errors = fileURLToPath(new URL('../../dist/core/errors.js', import.meta.url))
    const script = `
      const one = await import(${JSON.stringify(source)})
      const two = await import(${JSON.stringify(`${errors}?copy`)})
      const error = await one.pipeline('p', [one.bulkhead({ slots: 0 })]).call(() => 1).catch((e) => e)
      console.log(error instanceof two.RejectedError, two.isRejected(error), two.isTimeout(error))
    `
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
    expect(printed.trim()).toBe('false true false')
  })
})

test('a refusal of an open breaker says why it opened, and when to come back', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [breaker({ consecutive: 2, jitter: 0 })], { runtime: world })
  for (let i = 0; i < 2; i++) await p.call(() => Promise.reject(new Error('down'))).catch(() => {})
  await expect(p.call(() => 1)).rejects.toThrow(
    '[open] refused by p/breaker: open: 2 calls failed in a row (limit 2); try again in 5s',
  )
})
