import { ConfigError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import {
  BrpcClusterRecover,
  type BrpcRecoverOptions,
  type BrpcRecoverParams,
  parseBrpcRecoverParams,
} from '../../../src/compat/brpc/index.ts'
import { seeded } from '../../../src/testing/random.ts'
import { Vectors } from '../../support/vectors.ts'

type Config = {
  readonly min_working_instances: number
  readonly hold_seconds: number
  readonly detect_available_server_interval_ms: number
}
type Selection = readonly [atUs: number, usable: number, draw: number, recovering: 0 | 1, rejected: 0 | 1 | null]
type At = { t_us: number; usable: number }
type Check = {
  recovering: boolean
  last_usable: number
  last_usable_change_time_ms: number
  usable_cache: number
  usable_cache_time_ms: number
  server_list_scans: number
}
type Table = { draws: number; rejected: number; accepted_draws: readonly number[]; reject_probability: number }
type Params = { min_working_instances: number | string; hold_seconds: number }
type Step =
  | Selection
  | { op: 'start_recover'; t_us: number }
  | (At & { op: 'do_reject'; draw: number; expect: { reject: boolean } })
  | (At & { op: 'stop_recover_if_necessary'; expect: { recovering: boolean } })
  | (At & { op: 'probability'; expect: Table })
  | (At & { op: 'frequency'; expect: { trials: number; rejected: number } })
  | { op: 'check'; expect: Check }
  | { op: 'parse'; params: string; expect: { ok: boolean; policy: Params | null } }

const vectors = new Vectors<Config, Step>('brpc-cluster-recover.json')

/** A cluster with as many usable servers, and with dice that show what the recording says. */
class Cluster {
  readonly recover: BrpcClusterRecover
  private readonly needed: number
  private usable = 0
  private draw = 0
  private scans = 0
  private readonly dice = seeded(1)
  /** Frequencies: the dice roll for themselves. */
  private fair = false

  constructor(config: Config) {
    this.needed = config.min_working_instances
    this.recover = new BrpcClusterRecover(
      {
        minWorkingInstances: config.min_working_instances,
        holdSeconds: config.hold_seconds,
        detectIntervalMs: config.detect_available_server_interval_ms,
      },
      () => {
        this.scans++
        return this.usable
      },
      () => (this.fair ? this.dice() : (this.draw + 0.5) / this.needed),
    )
  }

  play(step: Step): void {
    if (!('op' in step)) {
      const [atUs, usable, draw, recovering, rejected] = step
      this.usable = usable
      expect(this.recover.stopRecoverIfNecessary(atUs / 1000)).toBe(recovering === 1)
      if (rejected !== null) expect(this.rejects(atUs, draw)).toBe(rejected === 1)
    } else if (step.op === 'start_recover') this.recover.startRecover()
    else if (step.op === 'check') expect(this.state).toStrictEqual(step.expect)
    else if (step.op === 'parse') expect(parsed(step.params)).toEqual(step.expect)
    else this.playAt(step)
  }

  private playAt(step: Extract<Step, At>): void {
    this.usable = step.usable
    if (step.op === 'do_reject') expect(this.rejects(step.t_us, step.draw)).toBe(step.expect.reject)
    else if (step.op === 'probability') expect(this.table(step.t_us, step.expect.draws)).toEqual(step.expect)
    else if (step.op === 'frequency') this.frequency(step.t_us, step.usable, step.expect)
    else expect(this.recover.stopRecoverIfNecessary(step.t_us / 1000)).toBe(step.expect.recovering)
  }

  private rejects(atUs: number, draw: number): boolean {
    this.draw = draw
    return this.recover.doReject(atUs / 1000)
  }

  private table(atUs: number, draws: number): Table {
    const accepted = Array.from({ length: draws }, (_, draw) => draw).filter((draw) => !this.rejects(atUs, draw))
    const rejected = draws - accepted.length
    return { draws, rejected, accepted_draws: accepted, reject_probability: rejected / draws }
  }

  /** Their dice and ours differ, so both are held against the share that must come of it: five deviations. */
  private frequency(atUs: number, usable: number, { trials, rejected }: { trials: number; rejected: number }): void {
    this.fair = true
    const ours = Array.from({ length: trials }, () => this.rejects(atUs, 0)).filter(Boolean).length
    this.fair = false
    const share = Math.max(0, 1 - usable / this.needed)
    const slack = 5 * Math.sqrt(trials * share * (1 - share))
    for (const count of [ours, rejected]) expect(Math.abs(count - trials * share)).toBeLessThanOrEqual(slack)
  }

  private get state(): Check {
    const { lastUsable, lastUsableChangeTimeMs, usableCache, usableCacheTimeMs } = this.recover.state
    return {
      recovering: this.recover.recovering,
      last_usable: lastUsable,
      last_usable_change_time_ms: lastUsableChangeTimeMs,
      usable_cache: usableCache,
      usable_cache_time_ms: usableCacheTimeMs,
      server_list_scans: this.scans,
    }
  }
}

function parsed(text: string): { ok: boolean; policy: Params | null } {
  let params: BrpcRecoverParams | undefined
  try {
    params = parseBrpcRecoverParams(text)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return { ok: false, policy: null }
  }
  if (params === undefined) return { ok: true, policy: null }
  // The recording has the largest of all numbers as a text, since JSON has no way to say it; here it is the double nearest to it.
  const largest = params.minWorkingInstances === Number('9223372036854775807')
  const min_working_instances = largest ? '9223372036854775807' : params.minWorkingInstances
  return { ok: true, policy: { min_working_instances, hold_seconds: params.holdSeconds } }
}

/** Only texts to read: this case has no cluster. */
const NONE: Config = { min_working_instances: 1, hold_seconds: 1, detect_available_server_interval_ms: 10 }

describe('the replica of the cluster recovery replays brpc', () => {
  test.each(vectors.cases)('$name: $description', (recorded) => {
    const cluster = new Cluster({ ...NONE, ...recorded.config })
    vectors.replay(recorded, (step) => cluster.play(step))
  })

  test('no step is left out', () => {
    console.log(`${vectors.summary}, 0 mismatches`)
    expect(vectors.replayed).toBe(vectors.steps)
    expect(vectors.cases.length).toBe(30)
  })
})

describe('what no recording says', () => {
  test.each([
    ['hold_seconds=1.5 min_working_instances=6', '"hold_seconds=1.5" has no whole number of 64 bits'],
    ['choices=2', '"choices=2" is none of min_working_instances=N and hold_seconds=N'],
    ['min_working_instances=6', '"min_working_instances=6" needs min_working_instances and hold_seconds, both above 0'],
    ['min_working_instances=6\thold_seconds=1', '"min_working_instances=6\thold_seconds=1" has no whole number'],
    ['=', '"=" is none of'],
    [`hold_seconds=${'9'.repeat(1000)}`, 'has no whole number'],
    ['hold_seconds=-9223372036854775809', 'has no whole number'],
  ])('%j: %s', (text, message) => {
    expect(() => parseBrpcRecoverParams(text)).toThrow(message)
  })

  test('blanks alone are no text', () => {
    expect(parseBrpcRecoverParams('   ')).toBeUndefined()
  })

  test.each<[BrpcRecoverOptions, string]>([
    [{ minWorkingInstances: 0, holdSeconds: 1 }, 'brpcRecover.minWorkingInstances'],
    [{ minWorkingInstances: 1.5, holdSeconds: 1 }, 'brpcRecover.minWorkingInstances'],
    [{ minWorkingInstances: 1, holdSeconds: 0 }, 'brpcRecover.holdSeconds'],
    [{ minWorkingInstances: 1, holdSeconds: 1, detectIntervalMs: -1 }, 'brpcRecover.detectIntervalMs'],
  ])('%o is refused', (options, path) => {
    const make = () => new BrpcClusterRecover(options, () => 0, seeded(1))
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(path)
  })
})
