import { answered, type Call, type Done, failed, type Outcome, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { fromSentinel } from '../../../src/compat/sentinel/index.ts'
import { layerOf } from '../../core/fate.ts'
import { EXAMPLE } from './example.ts'

// The three rules of the documents at work: each is a breaker that nobody sees, with statistics of its own.

type Work = (call: Call, done: Done) => void

class Abc {
  readonly world = new VirtualRuntime()
  private readonly p = pipeline('abc', fromSentinel(EXAMPLE).layers.get('abc') ?? [], { runtime: this.world })

  /** The states of the three, in the order of the rules. */
  get states(): unknown[] {
    return ['breaker', 'breaker-2', 'breaker-3'].map((place) => layerOf(this.p, place)['state'])
  }

  begin(work: Work, done: Done = () => {}): void {
    this.p.start(work, done)
  }

  run(work: Work): Outcome<unknown> | undefined {
    let end: Outcome<unknown> | undefined
    this.begin(work, (outcome) => (end = outcome))
    this.world.advance(100)
    return end
  }

  /** `times` calls of 5 ms that go well. */
  good(times: number): void {
    for (let i = 0; i < times; i++) this.run(this.takes(5))
  }

  takes(ms: number, outcome: Outcome<unknown> = answered('ok')): Work {
    return (_, done) => void this.world.after(ms, () => done(outcome))
  }
}

test('slow calls: 9 good ones and one that takes longer than 20 ms are a tenth', () => {
  const abc = new Abc()
  abc.good(9)
  abc.run(abc.takes(21))
  expect(abc.states).toEqual(['open', 'closed', 'closed'])
  expect(abc.run(abc.takes(5))?.rejection).toMatchObject({ reason: 'open', gate: { path: 'abc/breaker' } })
})

test('20 ms are not slow', () => {
  const abc = new Abc()
  abc.good(9)
  abc.run(abc.takes(20))
  expect(abc.states).toEqual(['closed', 'closed', 'closed'])
})

test('errors: 9 good ones and one that fails are a tenth', () => {
  const abc = new Abc()
  abc.good(9)
  abc.run(abc.takes(5, failed(new Error('down'))))
  expect(abc.states).toEqual(['closed', 'open', 'closed'])
})

test('business errors: the call returned, and its work has traced an error', () => {
  const abc = new Abc()
  abc.good(9)
  const end = abc.run((call, done) => {
    call.traceError(new Error('no such order'))
    done(answered('a page that says so'))
  })
  expect(end).toMatchObject({ ok: true, value: 'a page that says so', verdict: 'failure' })
  expect(abc.states).toEqual(['closed', 'open', 'closed'])
})

test('a number of errors: 100 within the window, however small their share', () => {
  const abc = new Abc()
  const ends: Done[] = []
  for (let i = 0; i < 2000; i++) abc.begin((_, done) => void ends.push(done))
  const error = failed(new Error('down'))
  ends.forEach((end, i) => end(i < 1900 || i === 1999 ? answered('ok') : error))
  expect(abc.states).toEqual(['closed', 'closed', 'closed'])
  abc.run(abc.takes(5, error))
  expect(abc.states).toEqual(['closed', 'closed', 'open'])
})

test('the silent period: with fewer than 10 calls nothing opens', () => {
  const abc = new Abc()
  for (let i = 0; i < 9; i++) abc.run(abc.takes(50, failed(new Error('down'))))
  expect(abc.states).toEqual(['closed', 'closed', 'closed'])
  abc.run(abc.takes(50, failed(new Error('down'))))
  expect(abc.states).toEqual(['open', 'open', 'closed'])
})

test('after 5 s, and a tenth of that at most, one call may try, and closes it', () => {
  const abc = new Abc()
  abc.good(9)
  abc.run(abc.takes(5, failed(new Error('down'))))
  abc.world.advance(4800)
  expect(abc.run(abc.takes(5))?.rejection?.reason).toBe('open')
  abc.world.advance(600)
  expect(abc.run(abc.takes(5))).toMatchObject({ ok: true })
  expect(abc.states).toEqual(['closed', 'closed', 'closed'])
})
