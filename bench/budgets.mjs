// The one table of budgets. A row may cost at most: `ratio` times the bare call; `ns` nanoseconds; `added` nanoseconds more
// than the bare call; `bytes` more than the bare call (of a connection or a key: at all); `growth` bytes of the whole
// process; `turns` microtask turns more than the bare call; `timers` live timers; `deviation` of a rate, as a share. Rows
// that are not here (other libraries, floors) are printed for comparison and have no verdict.

const MB = 1024 * 1024

const budgets = {
  'breaker closed': { ratio: 3.0, turns: 1 },
  'breaker closed, polluted': { ratio: 3.6, turns: 1 },
  'breaker closed, latency': { ratio: 4.5, turns: 1 },
  'pipeline of 4': { ratio: 6, turns: 1 },
  'pipeline of 4, polluted': { ratio: 7.5, turns: 1 },
  'refusal as outcome': { ratio: 2.6, turns: 1 },
  'refusal as outcome, not awaited': { ns: 80, turns: 1 },
  'refusal thrown': { ratio: 5, turns: 1 },
  'gate decision': { ns: 30, bytes: 64, turns: 1 },
  'gate decision, clock': { ns: 150, turns: 1 },
  // Beside the bare race, and not beside the bare call.
  'deadline that does not fire': { ratio: 1.4 },
  'headers of a hop, read and written': { ns: 1000 },

  'idle breakers': { bytes: 1024, timers: 0 },
  'idle breakers, used': { bytes: 1024, timers: 0 },

  'trip: failure rate, 10 s in 10 buckets': { ns: 60 },
  'trip: failure rate, last 100 calls': { ns: 60 },
  'trip: slow rate, 10 s in 10 buckets': { ns: 60 },
  'trip: slow rate, last 100 calls': { ns: 60 },
  'trip: slow rate, and calls that hang': { ns: 60 },
  'trip: error count, 10 s in 10 buckets': { ns: 60 },
  'trip: error count, last 1000 calls': { ns: 60 },
  'trip: consecutive': { ns: 60 },
  'trip: error cost': { ns: 60 },
  'trip: error cost, second stage': { ns: 60 },
  'trip: failure rate and consecutive': { ns: 60 },

  'throttle decision': { ns: 60 },
  'idle throttles, used': { bytes: 2048 },

  'bbr decision': { ns: 250 },
  'bbr decision, on guard': { ns: 250 },
  'bbr decision, by a pressure': { ns: 250 },
  'bbr refusal': { ns: 250 },

  // Beside the same without it: what is added.
  'overload decision': { ns: 250 },
  'overload, protect and signals: added to a request': { ns: 500 },
  'hello over node:http, CPU with overload': { ratio: 1.05 },
  'hello over fastify, CPU with overload': { ratio: 1.05 },

  'one limit: rateLimit': { added: 20 },
  'one limit: rateLimit, gcra': { added: 20 },
  'one limit: rateLimit, sliding window': { added: 20 },
  'one limit: limiter().allow': { added: 20 },
  '1 key: keyedRateLimit': { added: 20 },
  '10^5 keys: keyedRateLimit': { added: 60 },
  '10^5 keys, in turn: keyedRateLimit': { added: 60 },
  'bytes, 10^6 keys: keyedRateLimit': { bytes: 64 },
  'pace 100,000/s': { deviation: 0.01 },
  'pace 100,000/s, late timers': { deviation: 0.01 },

  'pick + settle, 100 endpoints': { ns: 200 },
  'pick + settle, 10000 endpoints': { ns: 400 },

  // 300,000 calls a second.
  'simulated calls, retry + breaker + bulkhead': { ns: 3333 },

  // 1.05 is what a prototype with five layers cost; single medians of this method agree to about 3 % and it cannot be
  // trusted below 10 %.
  'floodwall gateway': { ratio: 1.15 },
  'floodwall gateway, everything on': { ratio: 1.15 },

  'slow reader': { growth: 32 * MB },
  'slow upstream': { growth: 32 * MB },
  'idle connections': { bytes: 20 * 1024 },
}

const limits = {
  ratio: { of: (row) => row.ratio, text: (limit) => `${limit}x` },
  ns: { of: (row) => row.nsPerOp, text: (limit) => `${limit} ns` },
  bytes: { of: (row) => row.bytesPerOp, text: (limit) => `${limit} B` },
  growth: { of: (row) => row.growthBytes, text: (limit) => `${limit / MB} MB` },
  turns: { of: (row) => row.turns, text: (limit) => `${limit} turn` },
  timers: { of: (row) => row.timers, text: (limit) => `${limit} timers` },
  added: { of: (row) => row.nsPerOp - row.bareNsPerOp, text: (limit) => `${limit} ns added` },
  deviation: { of: (row) => row.deviation, text: (limit) => `${limit * 100} %` },
}

export function wanted(name) {
  const budget = budgets[name]
  if (budget === undefined) return ''
  return Object.entries(budget)
    .map(([what, limit]) => limits[what].text(limit))
    .join(', ')
}

/** What a row is over: a list of words, empty when it is within its budget. */
export function overruns(row) {
  const budget = budgets[row.name] ?? {}
  return Object.entries(budget)
    .filter(([what, limit]) => !(limits[what].of(row) <= limit))
    .map(([what]) => what)
}

export function verdict(row) {
  if (budgets[row.name] === undefined) return ''
  const over = overruns(row)
  return over.length === 0 ? 'ok' : `over: ${over.join(', ')}`
}
