// Ways to try again, at each of several levels. `told` says whether a level hears that the one below has tried already.

const AMPLE = { ratio: 1, minimum: 1_000_000 }

/** @type {Readonly<Record<string, { told: boolean, few?: boolean, retry(library: any): any }>>} */
export const contenders = {
  floodwall: { told: true, retry: ({ retry }) => retry({ attempts: 3 }) },
  'budget, untold': { told: false, retry: ({ retry }) => retry({ attempts: 3 }) },
  // 243 requests for each at the fifth level: few lives are enough, and long.
  'attempts alone': { told: false, few: true, retry: ({ retry }) => retry({ attempts: 3, budget: AMPLE }) },
}
