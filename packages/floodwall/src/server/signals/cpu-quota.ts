import { join } from 'node:path'
import { type Place, placeOf } from './cgroup-place.ts'
import { fieldOf, KeptFile, numberAt, once } from './kept-file.ts'

// How much of the CPU that our group may use does it use, and for how long was it stopped?
//
// A quota is so many microseconds in each period (100 ms). Who has used them up stands still until the next period: a process of four threads with
// a quota of one core runs 25 ms and is stopped for 75, at an average of one core. So the time that it was stopped counts more than
// the average. The tightest quota among the groups around us is the one that we meet.

/** Running totals, in milliseconds; undefined where they are not told. */
export interface CpuBooks {
  /** Cores that the quota is worth: 0.5 for 50 ms in each 100 ms. */
  readonly cores: number
  readonly usedMs: number | undefined
  readonly throttledMs: number | undefined
}

interface Quota {
  readonly cores: number
  readonly version: 1 | 2
  readonly stat: KeptFile
  /** Version 1 keeps the usage elsewhere. */
  readonly usage: KeptFile | undefined
}

export class CpuQuota {
  private readonly root: string
  private quota: Quota | undefined
  private readonly opened: KeptFile[] = []

  constructor(root: string) {
    this.root = root
  }

  /** Looks for the quota anew: it may be changed from outside, and groups come and go. */
  look(now: number): void {
    const place = placeOf(this.root, 'cpu')
    const found = place === undefined ? undefined : tightest(place, now)
    const { quota } = this
    if (found === undefined || place === undefined) return this.close()
    const folder = place.folders[found.at] as string
    const stat = join(folder, 'cpu.stat')
    if (quota !== undefined && quota.stat.path === stat) {
      this.quota = { ...quota, cores: found.cores }
      return
    }
    this.close()
    const usage = place.version === 1 ? usageBeside(this.root, found.at) : undefined
    this.quota = {
      cores: found.cores,
      version: place.version,
      stat: this.kept(stat),
      usage: usage === undefined ? undefined : this.kept(usage),
    }
  }

  /** Undefined: there is no quota. */
  read(now: number): CpuBooks | undefined {
    const { quota } = this
    if (quota === undefined) return undefined
    const text = quota.stat.read(now)
    if (quota.version === 2) {
      return {
        cores: quota.cores,
        usedMs: scaled(fieldOf(text, 'usage_usec'), 1e3),
        throttledMs: scaled(fieldOf(text, 'throttled_usec'), 1e3),
      }
    }
    return {
      cores: quota.cores,
      usedMs: scaled(numberAt(quota.usage?.read(now)), 1e6),
      throttledMs: scaled(fieldOf(text, 'throttled_time'), 1e6),
    }
  }

  close(): void {
    for (const file of this.opened.splice(0)) file.close()
    this.quota = undefined
  }

  private kept(path: string): KeptFile {
    const file = new KeptFile(path)
    this.opened.push(file)
    return file
  }
}

function tightest({ version, folders }: Place, now: number): { cores: number; at: number } | undefined {
  let best: { cores: number; at: number } | undefined
  for (const [at, folder] of folders.entries()) {
    const cores = version === 2 ? coresOfMax(folder, now) : coresOfCfs(folder, now)
    if (cores !== undefined && (best === undefined || cores < best.cores)) best = { cores, at }
  }
  return best
}

/** `50000 100000`, or `max 100000`. */
function coresOfMax(folder: string, now: number): number | undefined {
  const [quota, period] = (once(join(folder, 'cpu.max'), now) ?? '').split(' ')
  return coresOf(numberAt(quota), numberAt(period))
}

function coresOfCfs(folder: string, now: number): number | undefined {
  return coresOf(
    numberAt(once(join(folder, 'cpu.cfs_quota_us'), now)),
    numberAt(once(join(folder, 'cpu.cfs_period_us'), now)),
  )
}

function coresOf(quota: number | undefined, period: number | undefined): number | undefined {
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined
}

/** The same group, as many steps up, in the hierarchy that counts usage. */
function usageBeside(root: string, up: number): string | undefined {
  const folder = placeOf(root, 'cpuacct')?.folders[up]
  return folder === undefined ? undefined : join(folder, 'cpuacct.usage')
}

function scaled(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value / by
}
