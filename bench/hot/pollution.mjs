// What a real process has done before our call comes: other pipelines with other layers, works that answer at once, later
// or never, errors, refusals, timeouts. The compiler then has seen many shapes in the shared code and cannot inline as it
// does in a process that knows one kind of call.
import { setImmediate as turn } from 'node:timers/promises'
import { strangers } from './gates.mjs'

const ROUNDS = 400

const never = new Promise(() => {})
const works = [
  () => 1,
  () => 'text',
  () => Promise.resolve({ stock: 3 }),
  async () => {
    await Promise.resolve()
    return [1, 2]
  },
  () => {
    throw new TypeError('thrown at once')
  },
  () => Promise.reject(new Error('rejected')),
  async () => {
    await turn()
    return 7
  },
  async (call) => call.attempt,
  // oxlint-disable-next-line unicorn/no-thenable -- libraries return such things
  () => ({ then: (resolve) => resolve('a thenable') }),
]
const inits = [
  undefined,
  { idempotent: true },
  { key: 'tenant-7', cost: 2 },
  { criticality: 'critical', within: 1000 },
  { signal: new AbortController().signal, data: { page: 1 } },
]

export async function pollute(library) {
  const pipelines = others(library)
  const pending = []
  for (let i = 0; i < ROUNDS * pipelines.length; i++) {
    const pipeline = pipelines[i % pipelines.length]
    const work = works[i % works.length]
    const init = inits[i % inits.length]
    pending.push(once(library, pipeline, work, init, i))
    if (i % 64 === 63) {
      await Promise.all(pending.splice(0))
      await turn()
    }
  }
  // A call that is never answered: its timeout rings, and with it the paths of a freed caller.
  const slow = library.pipeline('slow', [library.retry({ attempts: 2 }), library.timeout({ after: '2ms' })])
  for (let i = 0; i < 20; i++) pending.push(slow.call(() => never).catch(() => {}))
  await Promise.all(pending)
  await turn()
}

/** All three doors of a pipeline, in turn. */
function once({ answered }, pipeline, work, init, i) {
  if (i % 5 === 3) return pipeline.outcome(work, init)
  if (i % 5 === 4) return new Promise((resolve) => pipeline.start((_call, done) => done(answered(i)), resolve, init))
  return pipeline.call(work, init).catch(() => {})
}

function others({ Permit, Rejection, breaker, bulkhead, deadline, pipeline, retry, timeout }) {
  const [tally, sieve, mean, level, ledger] = strangers({ Permit, Rejection })
  const touchy = breaker({ failureRate: 0.2, over: '1s', atLeast: 5, openFor: '5ms' }) // opens and reopens all the time
  const rates = breaker({ failureRate: 0.9, over: '10s', atLeast: 50 })
  const slots = bulkhead({ slots: 8 }) // full in each batch of 64: refusals
  return [
    pipeline('one', [tally]),
    pipeline('two', [sieve, mean]),
    pipeline('three', [level, ledger, rates]),
    pipeline('four', [touchy]),
    pipeline('five', [slots, touchy, sieve]),
    pipeline('six', [retry({ attempts: 2 }), mean, timeout({ after: '50ms' })]),
    pipeline('seven', [
      deadline({ within: '1s' }),
      retry({ attempts: 3 }),
      tally,
      level,
      timeout({ after: '100ms' }),
      sieve,
    ]),
  ]
}
