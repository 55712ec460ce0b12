import type { Endpoint } from '../core/init.ts'
import type { Next } from '../core/policy.ts'
import type { Machine } from './machine.ts'
import type { Target } from './target.ts'

/** Servers that do the same work, behind a layer that chooses: `balance({ endpoints: fleet.endpoints })`. */
export class Fleet implements Target {
  /** One for each server; its id is the server's name. */
  readonly endpoints: Endpoint[]
  private readonly byId: ReadonlyMap<string, Machine>

  constructor(servers: readonly Machine[]) {
    this.endpoints = servers.map(({ name }) => ({ id: name }))
    this.byId = new Map(servers.map((server) => [server.name, server]))
  }

  /** To the endpoint that was chosen. */
  readonly serve: Next = (call, done) => {
    const server = this.byId.get(call.endpoint?.id ?? '')
    if (server === undefined)
      throw new Error(`a fleet needs a layer that chooses one of its endpoints, such as balance`)
    server.serve(call, done)
  }
}
