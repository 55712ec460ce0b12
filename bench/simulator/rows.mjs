// Worlds to be run as fast as they go. A row is { name, furnish }: `furnish(library, world)` puts servers and clients
// into a world. Counted are attempts, refused ones included.

/** Three services of thirty workers each, at two thirds of what they can do. */
function services({ Clients, exponential, poisson, Server }, world, layers, more = {}) {
  for (const name of ['stock', 'prices', 'orders']) {
    const server = new Server(world, name, { workers: 30, service: exponential('20ms') })
    new Clients(world, `clients of ${name}`, { to: server, through: layers(), arrivals: poisson(1000), ...more })
  }
}

export const rows = [
  {
    name: 'simulated calls, no layers',
    furnish: (library, world) => services(library, world, () => []),
  },
  {
    name: 'simulated calls, retry + breaker + bulkhead',
    furnish(library, world) {
      const { breaker, bulkhead, retry } = library
      services(library, world, () => [retry(), breaker(), bulkhead({ slots: 64 })])
    },
  },
  {
    name: 'simulated calls, retry + breaker + bulkhead + timeout, patience',
    furnish(library, world) {
      const { breaker, bulkhead, retry, timeout } = library
      const layers = () => [retry(), breaker(), bulkhead({ slots: 64 }), timeout({ after: '250ms' })]
      services(library, world, layers, { patience: '1s' })
    },
  },
  {
    name: 'simulated calls, a retry storm before a queue of 2000',
    furnish({ Clients, exponential, poisson, Server }, world) {
      const to = new Server(world, 'stock', { workers: 10, service: exponential('10ms'), queue: 2000 })
      const insist = { patience: '1s', retries: 3 }
      new Clients(world, 'clients', { to, arrivals: poisson(1500), ...insist })
    },
  },
  {
    name: 'simulated calls, an event loop with a guard, overloaded',
    furnish({ bulkhead, Clients, EventLoopServer, exponential, poisson }, world) {
      const guard = [bulkhead({ slots: 20 })]
      const service = exponential('10ms')
      const to = new EventLoopServer(world, 'page', { service, blocking: 0.1, guard, refusal: '0.02ms' })
      new Clients(world, 'clients', { to, arrivals: poisson(3000), patience: '1s' })
    },
  },
]
