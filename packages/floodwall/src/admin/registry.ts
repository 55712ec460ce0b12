import type { Warmth } from '../caches/heat.ts'
import type { WarmOptions } from '../caches/hot-cache.ts'
import type { RefreshOptions } from '../caches/local-table.ts'
import type { Warmed } from '../caches/warm-up.ts'
import { ConfigError, type ConfigIssue } from '../core/errors.ts'
import { messageOf } from '../core/event.ts'
import type { Snapshot } from '../core/gate.ts'
import { show } from '../core/schema.ts'

// What is there to look at, and to steer, and by what name?
//
// Names stand in paths, events and shell scripts: letters, digits and `. _ -`.

/** A pipeline, a gate, a client: what says what it is now. */
export interface Inspectable {
  inspect(): Snapshot
}

/** What an operator does with a cache: a {@link HotCache} of any keys and values. */
export interface SteeredCache extends Inspectable {
  readonly kind: 'hotCache'
  readonly closed: boolean
  readonly hasBroadcast: boolean
  warm(keys: readonly never[], ttl: number | undefined, options: WarmOptions): Promise<Warmed>
  delete(key: never): boolean
  invalidate(...keys: readonly never[]): void
  hottest(): Warmth<string | number>[]
}

/** Only its owner knows which keys a cache has; to it others are keys that it does not have. */
export function keysFor(keys: readonly (string | number)[]): readonly never[] {
  return keys as readonly unknown[] as readonly never[]
}

/** What an operator does with a table: a {@link LocalTable} of any rows. */
export interface SteeredTable extends Inspectable {
  readonly kind: 'localTable'
  readonly closed: boolean
  readonly hasBroadcast: boolean
  refresh(options: RefreshOptions): Promise<void>
}

/** By the names that operators use, which need not be those of the events. At most 1000 of each sort. */
export interface Registered {
  readonly caches?: Readonly<Record<string, SteeredCache>> | undefined
  readonly tables?: Readonly<Record<string, SteeredTable>> | undefined
  /** What can be looked at only: pipelines, clients. */
  readonly pipelines?: Readonly<Record<string, Inspectable>> | undefined
}

/** `/inspect` shows them all: more are no page any more. */
const MOST_NAMES = 1000
const NAME = /^(?!\.)[\w.-]{1,100}$/
const nameForm = 'a name of 1 to 100 letters, digits and . _ -, without a dot in front'

const sorts = {
  caches: (it: Partial<SteeredCache>) => it.kind === 'hotCache' && typeof it.warm === 'function',
  tables: (it: Partial<SteeredTable>) => it.kind === 'localTable' && typeof it.refresh === 'function',
  pipelines: () => true,
}
const forms = { caches: 'a hotCache', tables: 'a localTable', pipelines: 'an object with inspect()' }

export type Sort = keyof typeof sorts

export class Registry {
  readonly caches: ReadonlyMap<string, SteeredCache>
  readonly tables: ReadonlyMap<string, SteeredTable>
  readonly pipelines: ReadonlyMap<string, Inspectable>

  /** Throws a ConfigError that lists every fault. */
  constructor(registered: Registered) {
    const issues: ConfigIssue[] = []
    this.caches = named('caches', registered.caches, issues)
    this.tables = named('tables', registered.tables, issues)
    this.pipelines = named('pipelines', registered.pipelines, issues)
    if (issues.length > 0) throw new ConfigError(issues)
  }

  /** All of one sort, as they are now, by name. */
  list(sort: Sort): Record<string, Snapshot> {
    return Object.fromEntries([...this[sort]].map(([name, it]) => [name, seen(it)]))
  }

  all(): Record<Sort, Record<string, Snapshot>> {
    return { caches: this.list('caches'), tables: this.list('tables'), pipelines: this.list('pipelines') }
  }
}

/** One that cannot say what it is must not hide the others. */
function seen(it: Inspectable): Snapshot {
  try {
    const snapshot = it.inspect()
    // A BigInt, or what holds itself.
    JSON.stringify(snapshot)
    return snapshot
  } catch (error) {
    return { kind: 'unknown', fault: messageOf(error) }
  }
}

function named<T>(sort: Sort, given: unknown, issues: ConfigIssue[]): ReadonlyMap<string, T> {
  const path = `admin.${sort}`
  if (given === undefined) return new Map()
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    issues.push({ path, value: Array.isArray(given) ? 'a list' : show(given), expected: 'an object of names' })
    return new Map()
  }
  const entries = Object.entries(given)
  if (entries.length > MOST_NAMES) {
    issues.push({ path, value: `${entries.length} names`, expected: `at most ${MOST_NAMES} names` })
  }
  for (const [name, it] of entries) {
    const at = `${path}.${name.slice(0, 100)}`
    if (!NAME.test(name)) issues.push({ path, value: show(name), expected: nameForm })
    else if (typeof it?.inspect !== 'function' || !sorts[sort](it)) {
      issues.push({ path: at, value: sortOf(it), expected: forms[sort] })
    }
  }
  return new Map(entries)
}

/** Not what is in it: that may be a secret, and is long. */
function sortOf(it: unknown): string {
  if (typeof it !== 'object' || it === null) return show(it)
  const { kind } = it as { readonly kind?: unknown }
  return typeof kind === 'string' ? `a ${kind.slice(0, 40)}` : 'an object'
}
