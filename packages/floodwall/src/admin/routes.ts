import { type Answer, jsonAnswer, Refusal } from './answer.ts'
import type { Inspectable, Registry, Sort } from './registry.ts'
import type { Order, Steering } from './steering.ts'

// What is there at which path, and who may do what there?
//
// A resource says what it answers to each method; a method that it does not know is 405, a path that nobody knows 404.

/** What a path stands for: `GET` reads and takes nothing, `POST` takes what the body says. */
export interface Resource {
  readonly get?: () => Answer
  readonly post?: (order: Omit<Order, 'name'>) => Answer | Promise<Answer>
}

/** So many keys of a cache are shown. */
const MOST_HOTTEST = 20

export class Routes {
  private readonly registry: Registry
  private readonly steering: Steering
  private readonly self: Inspectable

  /** @param self what `/inspect` says of the page itself */
  constructor(registry: Registry, steering: Steering, self: Inspectable) {
    this.registry = registry
    this.steering = steering
    this.self = self
  }

  /** Throws a {@link Refusal} when there is none. */
  at(path: string): Resource {
    const { registry } = this
    const [root, sort, name, action, ...more] = path.split('/')
    const found = root === '' && more.length === 0 ? this.find(sort ?? '', name, action) : undefined
    if (found !== undefined) return found
    const known = ['/inspect', '/caches', '/tables', '/pipelines', '/caches/NAME/warm', '/caches/NAME/stop']
    const names = (of: Sort) => [...registry[of].keys()].slice(0, MOST_HOTTEST)
    const facts = { known: [...known, '/caches/NAME/forget', '/tables/NAME/refresh'] }
    throw new Refusal(404, 'There is nothing here.', {}, { ...facts, caches: names('caches'), tables: names('tables') })
  }

  private find(sort: string, name: string | undefined, action: string | undefined): Resource | undefined {
    if (name === undefined) return this.all(sort)
    switch (sort) {
      case 'caches':
        return this.cache(name, action)
      case 'tables':
        return this.table(name, action)
      case 'pipelines':
        return action === undefined ? shown(this.registry.pipelines.get(name)) : undefined
      default:
        return undefined
    }
  }

  private all(sort: string): Resource | undefined {
    const { registry, self } = this
    if (sort === 'inspect') return { get: () => jsonAnswer(200, { admin: self.inspect(), ...registry.all() }) }
    if (sort !== 'caches' && sort !== 'tables' && sort !== 'pipelines') return undefined
    return { get: () => jsonAnswer(200, registry.list(sort)) }
  }

  private cache(name: string, action: string | undefined): Resource | undefined {
    const { steering } = this
    const cache = this.registry.caches.get(name)
    if (cache === undefined) return undefined
    switch (action) {
      case undefined: {
        const hottest = () => cache.hottest().slice(0, MOST_HOTTEST)
        return shown({
          inspect: () => ({ ...cache.inspect(), hottest: hottest(), warmUps: steering.warmUps.of(name) }),
        })
      }
      case 'warm':
        return { post: (order) => steering.warm(cache, { ...order, name }) }
      case 'stop':
        return { post: (order) => steering.stop({ ...order, name }) }
      case 'forget':
        return { post: (order) => steering.forget(cache, { ...order, name }) }
      default:
        return undefined
    }
  }

  private table(name: string, action: string | undefined): Resource | undefined {
    const table = this.registry.tables.get(name)
    if (table === undefined) return undefined
    if (action === undefined) return shown(table)
    return action === 'refresh' ? { post: (order) => this.steering.refresh(table, { ...order, name }) } : undefined
  }
}

function shown(it: Inspectable | undefined): Resource | undefined {
  return it === undefined ? undefined : { get: () => jsonAnswer(200, it.inspect()) }
}
