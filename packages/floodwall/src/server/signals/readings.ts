import { join } from 'node:path'
import { fade } from '../../algorithms/stats/fade.ts'
import { placeOf } from './cgroup-place.ts'
import { type CpuBooks, CpuQuota } from './cpu-quota.ts'
import { fieldAfter, KeptFile } from './kept-file.ts'
import { MemoryLimit } from './memory-limit.ts'
import { Signal } from './signal.ts'
import type { Sources } from './sources.ts'

// What becomes of running totals: shares of the time between two looks.
//
// Each signal is told what it needs to know: a total goes on whatever happens, so that a look that comes late, after a second of blocked loop, is of
// the whole second.

/** Limits and places of files are looked for anew after so long. */
const LOOK_MS = 10_000
/** One collection of 200 ms in a sample of 250 is no thrashing: the share of collections is an average over about this. */
const GC_MS = 2000

/** All that is measured of a process, but for the queue. */
export class Readings {
  /** The share of time in which the event loop did not sleep, stolen and throttled time included. */
  readonly loop: Signal
  /** How late the last timer of ours was: what blocked the loop. */
  readonly lateness: Signal
  /** CPU time of the process, as a share of what it may use. */
  readonly cpu: Signal
  /** CPU time of the control group, as a share of its quota. */
  readonly quota: Signal
  /** The share of time in which the control group was stopped, since its quota was used up. */
  readonly throttled: Signal
  /** The share of time in which somebody in the control group, or else on the machine, waited for a CPU. */
  readonly stalled: Signal
  /** The used share of the JavaScript heap. */
  readonly heap: Signal
  /** The used share of the memory that the control group, or else Node, may use. */
  readonly memory: Signal
  /** The share of time that garbage collections take, lately. */
  readonly gc: Signal
  readonly all: readonly Signal[]
  private readonly sources: Sources
  private readonly group: CpuQuota
  private readonly room: MemoryLimit
  private stall: KeptFile | undefined
  private stopCollections: (() => void) | undefined
  private lookedAt = Number.NEGATIVE_INFINITY
  private constrained: number | undefined
  private threads = 1
  private at = Number.NaN
  private idleMs = 0
  private cpuMs = 0
  private stalledMs: number | undefined
  private books: CpuBooks | undefined
  private collectedMs = 0

  constructor(sources: Sources, refresh: (now: number) => void, late: (now: number) => void) {
    this.sources = sources
    this.group = new CpuQuota(sources.root)
    this.room = new MemoryLimit(sources.root)
    const share = (name: string, from: number, to: number) => new Signal(name, 'share', { from, to }, refresh)
    this.loop = share('loop', 0.9, 1)
    this.lateness = new Signal('lateness', 'ms', { from: 50, to: 500 }, late)
    this.cpu = share('cpu', 0.9, 1)
    this.quota = share('quota', 0.9, 1)
    this.throttled = share('throttled', 0.1, 0.5)
    this.stalled = share('stalled', 0.5, 1)
    this.heap = share('heap', 0.85, 0.98)
    this.memory = share('memory', 0.9, 0.98)
    this.gc = share('gc', 0.3, 0.7)
    const { loop, lateness, cpu, quota, throttled, stalled, heap, memory, gc } = this
    this.all = [loop, lateness, cpu, quota, throttled, stalled, heap, memory, gc]
  }

  /** Reads everything. Two looks at one instant are one. */
  sample(now: number): void {
    const { sources } = this
    if (now <= this.at) return
    if (now - this.lookedAt >= LOOK_MS) this.look(now)
    const elapsed = now - this.at
    this.at = now
    const [idleMs, cpuMs, books] = [sources.idleMs(), sources.cpuMs(), this.group.read(now)]
    const stalledMs = stalledOf(this.stall?.read(now))
    if (elapsed > 0) {
      this.loop.set(Math.min(1, Math.max(0, 1 - (idleMs - this.idleMs) / elapsed)), now)
      const cores = Math.min(this.threads, books?.cores ?? this.threads)
      this.cpu.set((cpuMs - this.cpuMs) / elapsed / cores, now)
      this.readBooks(books, elapsed, now)
      this.stalled.set(shareOf(stalledMs, this.stalledMs, elapsed), now)
      const kept = fade(elapsed / GC_MS)
      this.gc.set((this.gc.value ?? 0) * kept + Math.min(1, this.collectedMs / elapsed) * (1 - kept), now)
    }
    this.collectedMs = 0
    this.idleMs = idleMs
    this.cpuMs = cpuMs
    this.books = books
    this.stalledMs = stalledMs
    this.readMemory(now)
  }

  close(): void {
    this.stopCollections?.()
    this.stopCollections = undefined
    this.group.close()
    this.room.close()
    this.stall?.close()
    this.stall = undefined
    this.lookedAt = Number.NEGATIVE_INFINITY
    this.at = Number.NaN
    this.books = undefined
    this.stalledMs = undefined
  }

  private readBooks(books: CpuBooks | undefined, elapsed: number, now: number): void {
    const before = this.books
    const used = shareOf(books?.usedMs, before?.usedMs, elapsed)
    this.quota.set(used === undefined || books === undefined ? undefined : used / books.cores, now)
    this.throttled.set(shareOf(books?.throttledMs, before?.throttledMs, elapsed), now)
  }

  private readMemory(now: number): void {
    const { sources, constrained } = this
    const { used, limit } = sources.heap()
    this.heap.set(used / limit, now)
    const ofGroup = this.room.limit === undefined ? undefined : this.room.read(now)
    // The group's books know of its other processes; without them what is known is ourselves.
    if (ofGroup !== undefined) this.memory.set(ofGroup / (this.room.limit as number), now)
    else this.memory.set(constrained === undefined ? undefined : sources.rss() / constrained, now)
  }

  private look(now: number): void {
    const { sources } = this
    this.lookedAt = now
    this.threads = Math.max(1, sources.parallelism())
    const machine = sources.memory()
    const least = sources.constrained()
    this.constrained = least > 0 && least < machine ? least : undefined
    this.group.look(now)
    this.room.look(now, machine)
    this.stopCollections ??= sources.collections((tookMs) => {
      this.collectedMs += tookMs
    })
    const place = placeOf(sources.root, 'unified')
    const own = place === undefined ? undefined : new KeptFile(join(place.folders[0] as string, 'cpu.pressure'))
    const path = own?.read(now) === undefined ? join(sources.root, 'proc/pressure/cpu') : own.path
    own?.close()
    if (this.stall?.path === path) return
    this.stall?.close()
    this.stall = new KeptFile(path)
    this.stalledMs = undefined
  }
}

/** What was added to a total, per time; undefined when a side is missing or the total began anew. */
function shareOf(total: number | undefined, before: number | undefined, elapsed: number): number | undefined {
  if (total === undefined || before === undefined || total < before) return undefined
  return (total - before) / elapsed
}

/** `some avg10=84.75 avg60=60.15 avg300=37.36 total=178994621`, in microseconds. */
function stalledOf(text: string | undefined): number | undefined {
  const micros = fieldAfter(text, ' total=')
  return micros === undefined ? undefined : micros / 1000
}
