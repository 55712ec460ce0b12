import type { Endpoint } from '../../core/init.ts'
import type { Discovery } from './discovery.ts'
import { writtenEndpoints } from './endpoint-list.ts'

/** Endpoints that never change: `fixed(['10.0.0.1:80', { id: '10.0.0.2:80', weight: 2 }])`. Throws a ConfigError on a bad list. */
export function fixed(endpoints: readonly (string | Endpoint)[]): Discovery {
  const list = writtenEndpoints(endpoints, 'fixed')
  return { start: (found) => found(list), close() {} }
}
