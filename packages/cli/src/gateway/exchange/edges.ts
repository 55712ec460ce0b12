import { type Call, type Done, type Layer, type Next, type Policy, refused } from 'floodwall'
import type { Exchange } from './exchange.ts'
import { tooLate } from './margin.ts'

// The two ends of the gateway's pipeline. They see to it that an end at one side is heard at the other.

/**
 * Outermost: the exchange gets hold of its call, so that a client who leaves ends it wherever it waits, in a queue or a backoff, too. The body is
 * collected here and not before: so a call ends in the layers, and at the cluster, that were in the settings when its head came, whatever they
 * say when its body has come.
 */
class Client implements Policy {
  readonly kind = 'client'
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  run(call: Call, next: Next, done: Done): void {
    const exchange = call.data as Exchange
    const { body } = exchange
    exchange.call = call
    if (!exchange.collects || body === null) return next(call, done)
    call.wait(done)
    body.arrive(exchange.head.bodyBytes, () => {
      if (!call.resume()) return
      try {
        next(call, done)
      } catch (error) {
        exchange.proxy.fault(exchange, error)
      }
    })
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
      if (call.cancelled) abandon(call, outcome.error as Error)
      done(outcome)
    })
  }
}

/** Ends what the attempt of this call still does. */
function abandon(call: Call, reason: Error): void {
  for (let attempt = (call.data as Exchange).latest; attempt !== null; attempt = attempt.earlier) {
    if (attempt.call === call) return attempt.abort(reason)
  }
}

const options = Object.freeze({})

export const client: Layer = { kind: 'client', options, build: (env) => new Client(env.path) }
export const wire: Layer = { kind: 'wire', options, build: (env) => new Wire(env.path) }
