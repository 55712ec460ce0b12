import type { Layer } from 'floodwall'
import { byRoute } from './by-route.ts'
import type { RouteConfig } from './route-options.ts'

/** Layers that count each caller on his own. */
const KEYED: ReadonlySet<string> = new Set(['keyed', 'keyedRateLimit'])

/** Routes whose limits for each caller are one for all, since nothing says whose a request is. */
export function keylessIn(routes: readonly RouteConfig[]): string[] {
  return byRoute(
    routes.flatMap(({ id, key, layers }) =>
      key === undefined ? layers.filter(isKeyed).map(({ kind }) => [id, whyOf(kind)] as const) : [],
    ),
  )
}

function whyOf(kind: string): string {
  return `${kind} counts all callers as one: "key" says whose a request is, such as "key: address"`
}

function isKeyed({ kind }: Layer): boolean {
  return KEYED.has(kind)
}
