/** The three rules on `abc` that Sentinel's documents show, as the JSON that its `Rule` is written in. */
export const EXAMPLE = `[
  {
    "resource": "abc",
    "strategy": 0,
    "retryTimeoutMs": 5000,
    "minRequestAmount": 10,
    "statIntervalMs": 10000,
    "maxAllowedRtMs": 20,
    "threshold": 0.1
  },
  {
    "resource": "abc",
    "strategy": 1,
    "retryTimeoutMs": 5000,
    "minRequestAmount": 10,
    "statIntervalMs": 10000,
    "threshold": 0.1
  },
  {
    "resource": "abc",
    "strategy": 2,
    "retryTimeoutMs": 5000,
    "minRequestAmount": 10,
    "statIntervalMs": 10000,
    "threshold": 100
  }
]`
