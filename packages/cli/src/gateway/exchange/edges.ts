import { type Call, type Done, type Layer, type Next, type Policy, refused } from 'floodwall'
import type { Exchange } from './exchange.ts'
import { tooLate } from './margin.ts'

// The two ends of the gateway's pipeline. They see to it that an end at one side is heard at the other.

/** Outermost: the exchange gets hold of its call, so that a client who leaves ends it wherever it waits, in a queue or a backoff, too. */
class Client implements Policy {
  readonly kind = 'client'
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  run(call: Call, next: Next, done: Done): void {
    ;(call.data as Exchange).call = call
    next(call, done)
  }
}

/**
 * Innermost: a call that has no time left is not sent, and one that was cancelled ends its attempt. `call.signal` would say that, too, for
 * 2.3 us a call on Node 20; this costs a closure.
 */
class Wire implements Policy {
  readonly kind = 'wire'
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  run(call: Call, next: Next, done: Done): void {
    const late = tooLate(call)
    if (late !== undefined) return done(refused(late))
    next(call, (outcome) => {
      if (call.cancelled) (call.data as Exchange).abandon(call, outcome.error as Error)
      done(outcome)
    })
  }
}

const options = Object.freeze({})

export const client: Layer = { kind: 'client', options, build: (env) => new Client(env.path) }
export const wire: Layer = { kind: 'wire', options, build: (env) => new Wire(env.path) }
