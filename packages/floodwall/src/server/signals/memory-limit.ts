import { join } from 'node:path'
import { type Place, placeOf } from './cgroup-place.ts'
import { fieldOf, KeptFile, numberAt, once } from './kept-file.ts'

// How near is our group to the memory at which the kernel ends it?
//
// What counts is what cannot be dropped: the group's memory without the pages of files (`inactive_file`, `active_file`) and what the kernel keeps of
// its own and can give back (`slab_reclaimable`). It drops all of these before it ends anybody, and a service that reads many files has them up to its
// limit, always: counted as used, as the kubelet does with `active_file`, they would have it refuse for ever. The least limit among the groups around us is the one that we meet. "None" is written as `max`, as 2^63 less a page in
// version 1, and by Node as 1.8e19 or 0.

const NAMES = {
  1: {
    limit: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    dropped: ['total_inactive_file', 'total_active_file'],
  },
  2: { limit: 'memory.max', used: 'memory.current', dropped: ['inactive_file', 'active_file', 'slab_reclaimable'] },
} as const

export class MemoryLimit {
  /** Bytes; undefined: none. */
  limit: number | undefined
  private readonly root: string
  private version: 1 | 2 = 2
  private used: KeptFile | undefined
  private stat: KeptFile | undefined

  constructor(root: string) {
    this.root = root
  }

  /** Looks for the limit anew. `machine`: bytes of the whole machine; a limit that is not below it is none. */
  look(now: number, machine: number): void {
    const place = placeOf(this.root, 'memory')
    const found = place === undefined ? undefined : least(place, now, machine)
    this.limit = found?.limit
    if (found === undefined || place === undefined) return this.closeFiles()
    const { used } = NAMES[place.version]
    const folder = place.folders[found.at] as string
    const path = join(folder, used)
    if (this.used?.path === path) return
    this.closeFiles()
    this.version = place.version
    this.used = new KeptFile(path)
    this.stat = new KeptFile(join(folder, 'memory.stat'))
  }

  /** Bytes of the group that cannot be dropped; undefined: nobody says. */
  read(now: number): number | undefined {
    const used = numberAt(this.used?.read(now))
    if (used === undefined) return undefined
    const stat = this.stat?.read(now)
    let held = used
    for (const name of NAMES[this.version].dropped) held -= fieldOf(stat, name) ?? 0
    return Math.max(0, held)
  }

  close(): void {
    this.closeFiles()
    this.limit = undefined
  }

  private closeFiles(): void {
    this.used?.close()
    this.stat?.close()
    this.used = undefined
    this.stat = undefined
  }
}

function least({ version, folders }: Place, now: number, machine: number): { limit: number; at: number } | undefined {
  let best: { limit: number; at: number } | undefined
  for (const [at, folder] of folders.entries()) {
    const limit = numberAt(once(join(folder, NAMES[version].limit), now))
    if (limit === undefined || limit <= 0 || limit >= machine) continue
    if (best === undefined || limit < best.limit) best = { limit, at }
  }
  return best
}
