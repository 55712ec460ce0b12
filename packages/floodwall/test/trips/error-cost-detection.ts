import { showMs } from 'floodwall'
import { brpc, callsToOpen, errorCost, type Judge } from './error-cost-traffic.ts'

// From fault to trip: the default ErrorCost beside the replica of brpc with its default flags, on the same seeded traffic.

export interface Detection {
  readonly callsPerSecond: number
  readonly share: number
  /** What a failure takes, in normal calls. */
  readonly failureTakes: number
  /** Calls until it opened, the median of the seeds; `undefined` when most seeds saw `MOST` calls in vain. */
  readonly errorCost: number | undefined
  readonly brpc: number | undefined
}

const RATES: readonly number[] = [10, 100, 1000]
const SHARES: readonly number[] = [1, 0.5, 0.3, 0.1]
/** Refused at once, failed in normal time, timed out. */
const TAKES: readonly number[] = [0.1, 1, 2]

/** Calls until we say never. */
const MOST = 20_000
/** Both have seen so many good calls before the fault: brpc's first windows, which count errors, are over. */
const HEALTHY = 3100
const SEEDS: readonly number[] = [1, 2, 3, 4, 5]

export function detections(): Detection[] {
  return TAKES.flatMap((failureTakes) =>
    SHARES.flatMap((share) =>
      RATES.map((callsPerSecond) => {
        const by = (make: () => Judge): number | undefined =>
          median(SEEDS.map((seed) => callsToOpen(make(), { callsPerSecond, share, failureTakes, seed }, MOST, HEALTHY)))
        return { callsPerSecond, share, failureTakes, errorCost: by(errorCost), brpc: by(brpc) }
      }),
    ),
  )
}

function median(calls: readonly (number | undefined)[]): number | undefined {
  const middle = calls.map((n) => n ?? Infinity).sort((a, b) => a - b)[calls.length >> 1]
  return middle === Infinity ? undefined : middle
}

/** As a table in Markdown. */
export function showDetections(rows: readonly Detection[]): string {
  const columns = RATES.flatMap((rate) => [`${rate}/s floodwall`, `${rate}/s brpc`])
  const lines = [
    ['failures take', 'share', ...columns],
    Array.from({ length: columns.length + 2 }, () => '---'),
    ...TAKES.flatMap((takes) =>
      SHARES.map((share) => [
        `${takes} of normal`,
        `${share * 100} %`,
        ...rows
          .filter((row) => row.share === share && row.failureTakes === takes)
          .flatMap((row) => [cell(row.errorCost, row.callsPerSecond), cell(row.brpc, row.callsPerSecond)]),
      ]),
    ),
  ]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}

function cell(calls: number | undefined, callsPerSecond: number): string {
  return calls === undefined ? 'never' : `${calls} (${showMs((calls * 1000) / callsPerSecond)})`
}
