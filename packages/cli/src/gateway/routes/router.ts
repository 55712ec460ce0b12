import type { Match } from '../config/route-options.ts'
import type { HostPattern } from './host-pattern.ts'
import type { Route } from './route.ts'

// Which route does a request take? The first that fits, in the order of the document: what an operator reads from top to bottom is what
// happens.

/** What a route may look at. */
export interface Asked {
  readonly method: string
  /** As `hostOf` says it; '' where there is none (HTTP/1.0). */
  readonly host: string
  /** Normalised, without the query. */
  readonly pathname: string
  /**
   * The header lines that go to the server, flat: name, value. Not those that came: what a stranger writes about himself is taken out, and must not
   * open a route to him before.
   */
  readonly lines: readonly string[]
}

export class Router {
  private readonly routes: readonly Route[]

  constructor(routes: readonly Route[]) {
    this.routes = routes
  }

  /** Undefined when no route fits. `pathname` in place of the request's own, for another reading of it. */
  route(asked: Asked, pathname: string = asked.pathname): Route | undefined {
    for (const route of this.routes) if (fits(route.config.match, asked, pathname)) return route
    return undefined
  }

  /** Whether whoever reads the path in one of these ways would take the same route. */
  agree(asked: Asked, readings: Iterable<string>, route: Route): boolean {
    for (const reading of readings) if (this.route(asked, reading) !== route) return false
    return true
  }

  /** The methods of the routes that would fit with another method. */
  methods(asked: Asked): string[] {
    const found = this.routes
      .map(({ config }) => config.match)
      .filter((match) => fits({ ...match, methods: undefined }, asked, asked.pathname))
    return [...new Set(found.flatMap(({ methods }) => [...(methods ?? [])]))]
  }
}

// Loops, here and below: asked of every route before the one that fits, and a closure each would cost more than the look.

/** The path first: it tells most of them apart. */
function fits({ hosts, path, methods, headers }: Match, asked: Asked, pathname: string): boolean {
  if (path !== undefined && !path.matches(pathname)) return false
  if (methods !== undefined && !methods.has(asked.method)) return false
  if (hosts.length > 0 && !isOneOf(hosts, asked.host)) return false
  for (let i = 0; i < headers.length; i++) {
    const [name, value] = headers[i] as (typeof headers)[number]
    if (!hasHeader(asked.lines, name, value)) return false
  }
  return true
}

function isOneOf(hosts: readonly HostPattern[], host: string): boolean {
  for (let i = 0; i < hosts.length; i++) if ((hosts[i] as HostPattern).matches(host)) return true
  return false
}

function hasHeader(lines: readonly string[], name: string, value: string | undefined): boolean {
  for (let i = 0; i < lines.length; i += 2) {
    const given = lines[i] as string
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    if (value === undefined || lines[i + 1] === value) return true
  }
  return false
}
