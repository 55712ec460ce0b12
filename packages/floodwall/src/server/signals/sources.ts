import { availableParallelism, totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { loopIdle, loopTurns } from '../../core/system.ts'

/** Where the numbers come from. Tests bring their own, and a folder in place of `/`. */
export interface Sources {
  /** The folder that `/proc` and `/sys` are looked for in. */
  readonly root: string
  /** Milliseconds that the event loop has slept, since it began. */
  idleMs(): number
  /** How often the event loop has gone round; NaN when that is not known. */
  turns(): number
  /** CPU time of this process with all its threads, in milliseconds. */
  cpuMs(): number
  /** Bytes of this process in memory. */
  rss(): number
  /** Bytes of the JavaScript heap: used, and at most. */
  heap(): { readonly used: number; readonly limit: number }
  /** The most memory that Node believes it may use, in bytes; 0 or absurd when there is no such thing. */
  constrained(): number
  /** Bytes of memory of the machine. */
  memory(): number
  /** How many threads can run at once. */
  parallelism(): number
  /** Calls `heard` with the milliseconds of each garbage collection; returns the way to stop. */
  collections(heard: (tookMs: number) => void): () => void
}

function collections(heard: (tookMs: number) => void): () => void {
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) heard(duration)
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function heap(): { used: number; limit: number } {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return { used, limit }
}

/** This process, on this machine. */
export const processSources: Sources = {
  root: '/',
  idleMs: loopIdle,
  turns: loopTurns,
  cpuMs,
  rss: () => process.memoryUsage.rss(),
  heap,
  constrained: () => process.constrainedMemory(),
  memory: totalmem,
  parallelism: availableParallelism,
  collections,
}
