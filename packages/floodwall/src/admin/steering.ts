import * as v from 'valibot'
import { keysOfMessage, ttlOfMessage } from '../caches/messages.ts'
import { showMs } from '../core/duration.ts'
import { ConfigError, isRejected, isTimeout } from '../core/errors.ts'
import { messageOf } from '../core/event.ts'
import type { Env } from '../core/runtime.ts'
import { parse } from '../core/schema.ts'
import { type Answer, jsonAnswer, Refusal } from './answer.ts'
import { Gone } from './body.ts'
import { Changes } from './changes.ts'
import { keysFor, type SteeredCache, type SteeredTable } from './registry.ts'
import { WarmUps } from './warm-ups.ts'

// What can an operator do, and what does he hear of it?
//
// What takes longer than he is to wait goes on, and he hears 202. A warm-up ends with who waits for it; the load of a table is everybody's, and
// does not.

const everywhere = v.optional(v.boolean('true or false'), false)
const warmBody = v.strictObject({ keys: keysOfMessage, ttl: v.optional(ttlOfMessage), everywhere })
const forgetBody = v.strictObject({ keys: keysOfMessage, everywhere })
const refreshBody = v.strictObject({ everywhere })
const stopBody = v.strictObject({})

/** A question for a change. */
export interface Order {
  readonly name: string
  readonly body: unknown
  /** Aborted when the client leaves before it has its answer. */
  readonly leaving: AbortSignal
}

export class Steering {
  readonly changes: Changes
  readonly warmUps: WarmUps = new WarmUps()
  private readonly env: Env
  private readonly waitMs: number

  constructor(env: Env, waitMs: number) {
    this.env = env
    this.waitMs = waitMs
    this.changes = new Changes(env)
  }

  async warm(cache: SteeredCache, { name, body, leaving }: Order): Promise<Answer> {
    const order = parse(warmBody, body, 'body')
    usable(name, cache, order.everywhere)
    const { keys, ttl } = order
    const why = `${keysOf(keys)}${ttl === undefined ? '' : ` for ${showMs(ttl)}`}${where(order.everywhere)}`
    const begin = () => this.warmUps.begin(name, cache, order)
    const warming = this.changes.run('warm', `caches/${name}`, why, begin)
    try {
      await this.waited(warming.over, leaving)
    } catch (error) {
      warming.stop()
      throw error
    }
    return done(warming.view.state !== 'running', `caches/${name}`, { ...warming.view, ...told(cache, order) })
  }

  stop({ name, body }: Order): Answer {
    parse(stopBody, body, 'body')
    const stopped = this.warmUps.stop(name)
    this.changes.tell('stop', `caches/${name}`, `${stopped} warm-ups`)
    return jsonAnswer(200, { stopped })
  }

  forget(cache: SteeredCache, { name, body }: Order): Answer {
    const order = parse(forgetBody, body, 'body')
    usable(name, cache, order.everywhere)
    const keys = keysFor(order.keys)
    this.changes.tell('forget', `caches/${name}`, `${keysOf(keys)}${where(order.everywhere)}`)
    const forgotten = keys.filter((key) => cache.delete(key)).length
    if (order.everywhere) cache.invalidate(...keys)
    return jsonAnswer(200, { forgotten, ...told(cache, order) })
  }

  async refresh(table: SteeredTable, { name, body, leaving }: Order): Promise<Answer> {
    const order = parse(refreshBody, body, 'body')
    usable(name, table, order.everywhere)
    const begin = () => ({ over: table.refresh(order) })
    const { over } = this.changes.run('refresh', `tables/${name}`, order.everywhere ? 'everywhere' : 'here', begin)
    try {
      const isOver = await this.waited(over, leaving)
      return done(isOver, `tables/${name}`, table.inspect())
    } catch (error) {
      if (error instanceof Gone) throw error
      throw new Refusal(statusOf(error), `${name}: ${messageOf(error)}`, {}, { table: table.inspect() })
    }
  }

  /** True when `work` has ended, false when it takes longer than somebody is to wait. Rejects as `work` does, and when the client leaves. */
  private waited(work: Promise<unknown>, leaving: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        cancel()
        leaving.removeEventListener('abort', left)
        settle()
      }
      const left = (): void => end(() => reject(new Gone()))
      const cancel = this.env.after(this.waitMs, () => end(() => resolve(false)), true)
      work.then(
        () => end(() => resolve(true)),
        (error: unknown) => end(() => reject(error)),
      )
      if (leaving.aborted) left()
      else leaving.addEventListener('abort', left)
    })
  }
}

/** Throws what is in the way of a change. */
function usable(name: string, it: SteeredCache | SteeredTable, everywhere: boolean): void {
  if (it.closed) throw new Refusal(409, `${name} was closed.`)
  if (!everywhere || it.hasBroadcast) return
  const expected = `false, since ${name} has no broadcast`
  throw new ConfigError([{ path: 'body.everywhere', value: 'true', expected }])
}

function done(isOver: boolean, what: string, facts: object): Answer {
  return isOver ? jsonAnswer(200, facts) : jsonAnswer(202, { ...facts, progress: `GET /${what}` })
}

/** What became of the messages so far: nobody knows who has heard them. */
function told(it: SteeredCache, order: { readonly everywhere: boolean }): object {
  return order.everywhere ? { broadcast: it.inspect()['broadcast'] } : {}
}

/** A table's source is behind us, as a server is behind a gateway. */
function statusOf(error: unknown): number {
  if (isRejected(error)) return 409
  return isTimeout(error) ? 504 : 502
}

const keysOf = ({ length }: readonly unknown[]): string => (length === 1 ? '1 key' : `${length} keys`)
const where = (all: boolean): string => (all ? ', everywhere' : '')
