import * as v from 'valibot'
import { bbr } from '../../algorithms/gates/bbr.ts'
import type { BbrOptions } from '../../algorithms/gates/bbr-settings.ts'
import { rateLimit } from '../../algorithms/gates/rate-limit.ts'
import { bulkhead } from '../../algorithms/gates/semaphore.ts'
import type { Layer } from '../../core/layer.ts'
import { amountOrZero, share } from '../../core/schema.ts'
import { Fields, Findings, type SentinelNote } from './findings.ts'
import { listOf } from './from-sentinel.ts'

// Which layers of ours, at the door of a server, do what these system rules of Sentinel are meant to do?
//
// Go has a rule for each metric, Java five numbers in one rule. Requests a second become a rate limit, requests at once a bulkhead, CPU and load a
// bbr gate. The average response time has no layer: it says what was asked for, and not that there is too much of it; that is `overload`.
//
// { metricType: 2, triggerCount: 64, strategy: -1 } becomes bulkhead({ slots: 64 }).
//
// Invariant: a document with a fault makes nothing; every field that is not honoured as it stands has its note.

const METRICS = ['load', 'avgRT', 'concurrency', 'inboundQPS', 'cpuUsage'] as const
type Metric = (typeof METRICS)[number]

/** The same in Java's words. */
const JAVA: Readonly<Record<string, Metric>> = {
  highestSystemLoad: 'load',
  avgRt: 'avgRT',
  maxThread: 'concurrency',
  qps: 'inboundQPS',
  highestCpuUsage: 'cpuUsage',
}
const GO = ['id', 'metricType', 'triggerCount', 'strategy']

const BBR = 1
/** What `load` is told as: half of a scale that ends at twice the trigger. */
const TRIGGER = 0.5

/** What tells how busy the machine is; rules about what nobody tells are noted. */
export interface SystemSignals {
  /** Usage of the CPU, 0 to 1. Default: the server's own signal, as for `bbr`. */
  readonly cpu?: NonNullable<BbrOptions['cpu']>
  /** The load average of the machine: `() => os.loadavg()[0]`. */
  readonly load?: () => number
}

/** What became of a document. */
export interface SentinelSystemImport {
  /** In the order of the rules; for the front of a server's pipeline. */
  readonly layers: readonly Layer[]
  /** Every field that is not honoured as it stands. */
  readonly notes: readonly SentinelNote[]
}

const metricType = v.custom<number>(
  (n) => Number.isInteger(n) && Number(n) >= 0 && Number(n) < METRICS.length,
  '0 to 4 (load, avgRT, concurrency, inboundQPS, cpuUsage)',
)
const strategyOf = v.custom<number>((n) => n === -1 || n === 0 || n === BBR, '-1, 0 or 1 (none, none, BBR)')
const text = v.custom<string | number>((id) => typeof id === 'string' || Number.isFinite(id), 'a text or a number')
/** Java: -1 and the like are "not this". */
const numberOrOff = v.custom<number>((n) => typeof n === 'number' && Number.isFinite(n), 'a number; below 0 is off')

/**
 * Reads system rules of Sentinel, Go's or Java's: a list, or its JSON.
 *
 * @throws ConfigError that lists every fault with path, value and expectation; then nothing has been made
 */
export function fromSentinelSystem(rules: unknown, signals: SystemSignals = {}): SentinelSystemImport {
  const findings = new Findings()
  const made: (() => Layer | undefined)[] = []
  listOf(rules).forEach((raw, i) => {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return findings.fault(`[${i}]`, raw, 'a rule')
    const fields = new Fields(raw as Record<string, unknown>, `[${i}]`, findings)
    fields.read('id', text)
    if (Object.keys(JAVA).some((name) => fields.says(name)) && !fields.says('metricType')) readJava(fields)
    else readGo(fields)
  })
  findings.check()
  return { layers: made.map((make) => make()).filter((layer) => layer !== undefined), notes: findings.notes }

  function readGo(fields: Fields): void {
    const metric = METRICS[fields.read('metricType', metricType) ?? 0] as Metric
    const strategy = fields.read('strategy', strategyOf)
    const trigger = fields.read('triggerCount', metric === 'cpuUsage' ? share : amountOrZero)
    fields.end(GO)
    if (trigger === undefined) return fields.note('ignored', 'triggerCount', 'without a number the rule says nothing')
    if (strategy === BBR && metric !== 'load' && metric !== 'cpuUsage')
      fields.note('ignored', 'strategy', `BBR has no meaning for ${metric}, there too`)
    add(fields, 'triggerCount', metric, trigger, strategy === BBR)
  }

  function readJava(fields: Fields): void {
    for (const [name, metric] of Object.entries(JAVA)) {
      const trigger = fields.read(name, numberOrOff)
      if (trigger === undefined || trigger < 0) continue
      if (metric === 'cpuUsage' && !(trigger > 0 && trigger <= 1))
        findings.fault(`${fields.path}.${name}`, trigger, 'a share above 0 and at most 1 (0.5 is 50 %)')
      // Java looks at BBR with the load alone.
      else add(fields, name, metric, trigger, metric === 'load')
    }
    fields.end(['id', ...Object.keys(JAVA)])
  }

  function add(fields: Fields, name: string, metric: Metric, trigger: number, isBbr: boolean): void {
    if (metric === 'inboundQPS') {
      fields.note('changed', name, 'a rate that refills evenly, and not anew with each half of a second')
      made.push(() => rateLimit({ rate: trigger }))
    } else if (metric === 'concurrency') made.push(() => bulkhead({ slots: Math.ceil(trigger) }))
    else if (metric === 'avgRT')
      fields.note('ignored', name, 'no layer looks at an average of response times: overload()')
    else addBbr(fields, name, metric, trigger, isBbr)
  }

  function addBbr(fields: Fields, name: string, metric: Metric, trigger: number, isBbr: boolean): void {
    const { cpu, load } = signals
    if (!isBbr) fields.note('changed', name, 'above it what is over the bound is refused, and not everything')
    if (metric === 'cpuUsage') {
      fields.note('changed', name, 'a share of the CPU; there a percentage is compared with it')
      made.push(() => bbr(cpu === undefined ? { above: trigger } : { above: trigger, cpu }))
    } else if (load === undefined || trigger === 0)
      fields.note('ignored', name, trigger === 0 ? '0 is no load' : 'nothing tells the load: give the import `load`')
    else made.push(() => bbr({ above: TRIGGER, weight: 1, cpu: () => (load() / trigger) * TRIGGER }))
  }
}
