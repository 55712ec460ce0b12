import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Sources } from 'floodwall/server'

/** What a process can know of itself, to be turned by hand; files lie in a folder of their own. */
export class Machine implements Sources {
  readonly root: string = mkdtempSync(join(tmpdir(), 'floodwall-signals-'))
  idle = 0
  loops = 0
  cpu = 0
  resident = 0
  heapUsed = 10
  constrainedTo = 18_446_744_073_709_552_000
  threads = 4
  observers = 0
  private heard: (tookMs: number) => void = () => {}

  idleMs = (): number => this.idle
  turns = (): number => this.loops
  cpuMs = (): number => this.cpu
  rss = (): number => this.resident
  heap = (): { used: number; limit: number } => ({ used: this.heapUsed, limit: 100 })
  constrained = (): number => this.constrainedTo
  memory = (): number => 16_000
  parallelism = (): number => this.threads

  collections = (heard: (tookMs: number) => void): (() => void) => {
    this.observers++
    this.heard = heard
    return () => void this.observers--
  }

  collect(tookMs: number): void {
    this.heard(tookMs)
  }

  /** Writes files by path, `sys/fs/cgroup/cpu.max`. */
  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(this.root, dirname(path)), { recursive: true })
      writeFileSync(join(this.root, path), text)
    }
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

const CPU_STAT = (usedMs: number, throttledMs: number) =>
  `usage_usec ${usedMs * 1000}\nuser_usec 1\nsystem_usec 1\nnr_periods 40\nnr_throttled 30\nthrottled_usec ${throttledMs * 1000}\n`

export const UNIFIED = '31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n'

/** A group of version 2 under `folder`, as it is after so much use. */
export function unified(folder: string, max: string, usedMs: number, throttledMs: number): Record<string, string> {
  return { [`${folder}/cpu.max`]: `${max}\n`, [`${folder}/cpu.stat`]: CPU_STAT(usedMs, throttledMs) }
}

/** The same of version 1: `cpu` and `cpuacct` apart, throttled time in nanoseconds. */
export function legacy(group: string, quota: string, usedMs: number, throttledMs: number): Record<string, string> {
  return {
    [`sys/fs/cgroup/cpu${group}/cpu.cfs_quota_us`]: `${quota}\n`,
    [`sys/fs/cgroup/cpu${group}/cpu.cfs_period_us`]: '100000\n',
    [`sys/fs/cgroup/cpu${group}/cpu.stat`]: `nr_periods 9\nnr_throttled 3\nthrottled_time ${throttledMs}000000\n`,
    [`sys/fs/cgroup/cpuacct${group}/cpuacct.usage`]: `${usedMs}000000\n`,
  }
}

export const LEGACY = [
  '32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu',
  '33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct',
  '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
  '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n',
].join('\n')
