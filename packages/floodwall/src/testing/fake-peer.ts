import type { Call } from '../core/call.ts'
import { answered, failed } from '../core/outcome.ts'
import type { Done, Next } from '../core/policy.ts'
import type { Runtime } from '../core/runtime.ts'

/** One request that reached the peer. The first of `succeed` and `fail` counts. */
export class Exchange {
  readonly call: Call
  /** When it arrived, on the runtime's clock. */
  readonly at: number
  private readonly finish: (ok: boolean, value: unknown) => void

  constructor(call: Call, at: number, finish: (ok: boolean, value: unknown) => void) {
    this.call = call
    this.at = at
    this.finish = finish
  }

  succeed(value?: unknown): void {
    this.finish(true, value)
  }

  fail(error: unknown): void {
    this.finish(false, error)
  }
}

/** What a scripted peer does with a request: answers `value` or throws `error`, `afterMs` from now. */
export type Script = (
  exchange: Exchange,
  serial: number,
) => { readonly afterMs?: number; readonly value?: unknown; readonly error?: unknown }

/**
 * The other side of a call, in your hands: by script, or one exchange at a time.
 * `await pipeline.call(peer.work)` or `pipeline.start(peer.start, done)`; then `peer.next().succeed('hello')`.
 */
export class FakePeer {
  /** Requests that wait for an answer, oldest first. */
  readonly pending: Exchange[] = []
  /** Requests that ever arrived. */
  arrived = 0
  /** Requests being worked on, and the most at any time: what a limit must bound. */
  running = 0
  mostRunning = 0
  private readonly runtime: Runtime
  private readonly script: Script | undefined

  constructor(runtime: Runtime, script?: Script) {
    this.runtime = runtime
    this.script = script
  }

  /** For `pipeline.call` and `pipeline.outcome`. */
  readonly work = (call: Call): Promise<unknown> =>
    new Promise((resolve, reject) => {
      this.receive(call, (ok, value) => (ok ? resolve(value) : reject(value)))
    })

  /** For `pipeline.start`. */
  readonly start: Next = (call: Call, done: Done): void => {
    this.receive(call, (ok, value) => done(ok ? answered(value) : failed(value)))
  }

  /** The oldest unanswered request. Throws when there is none: the call never arrived. */
  next(): Exchange {
    const [exchange] = this.pending
    if (exchange === undefined) throw new Error('FakePeer: no request is waiting for an answer')
    return exchange
  }

  private receive(call: Call, answer: (ok: boolean, value: unknown) => void): void {
    this.arrived++
    this.running++
    this.mostRunning = Math.max(this.mostRunning, this.running)
    const exchange: Exchange = new Exchange(call, this.runtime.now(), (ok, value) => {
      const at = this.pending.indexOf(exchange)
      if (at < 0) return
      this.pending.splice(at, 1)
      this.running--
      answer(ok, value)
    })
    this.pending.push(exchange)
    if (this.script === undefined) return
    const plan = this.script(exchange, this.arrived)
    const act = () => ('error' in plan ? exchange.fail(plan.error) : exchange.succeed(plan.value))
    if (plan.afterMs === undefined) act()
    else this.runtime.after(plan.afterMs, act)
  }
}
