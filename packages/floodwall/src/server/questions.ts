import type { Env } from '../core/runtime.ts'
import { show } from '../core/schema.ts'
import type { Asked } from './settings.ts'

// What does the user's code say of a request: its route, its key, its cost?
//
// These functions read what strangers send, and one day one of them throws. A request is not refused for that, or a header could take a route
// out of service: it is nobody's, of its method, and costs 1, as if nobody had been asked. It is counted, and the first of each is told.

/** The functions of one edge. */
export class Questions<R> {
  /** Answers that were an error instead. */
  failures = 0
  private readonly asked: Asked<R>
  private readonly env: Env
  private readonly told = new Set<keyof Asked<R>>()

  constructor(asked: Asked<R>, env: Env) {
    this.asked = asked
    this.env = env
  }

  route(said: R): string | undefined {
    return this.asked.route === undefined ? undefined : this.ask('route', said)
  }

  key(said: R): string | number | undefined {
    return this.asked.key === undefined ? undefined : this.ask('key', said)
  }

  cost(said: R): number | undefined {
    return this.asked.cost === undefined ? undefined : this.ask('cost', said)
  }

  private ask<N extends keyof Asked<R>>(name: N, said: R): ReturnType<NonNullable<Asked<R>[N]>> | undefined {
    try {
      return this.asked[name]?.(said) as ReturnType<NonNullable<Asked<R>[N]>> | undefined
    } catch (error) {
      this.failures++
      if (!this.told.has(name)) this.tell(name, error)
      return undefined
    }
  }

  private tell(name: keyof Asked<R>, error: unknown): void {
    this.told.add(name)
    const { env } = this
    const why = `${name} threw, and the request went on without: ${show(error instanceof Error ? error.message : error)}`
    env.emit({ type: 'warning', at: env.now(), path: env.path, why })
  }
}
