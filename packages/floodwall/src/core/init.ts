import type { Aborts } from './aborts.ts'
import type { Ambient } from './ambient.ts'
import type { Call } from './call.ts'
import type { Detachments } from './detachments.ts'
import type { Classify } from './outcome.ts'
import type { Done } from './policy.ts'
import type { Env } from './runtime.ts'
import type { Task } from './step.ts'

/** Who goes first under overload; inherited by every call made on behalf of this one. The default for production is `critical`. */
export type Criticality = 'criticalPlus' | 'critical' | 'sheddablePlus' | 'sheddable'

/** One of several targets that do the same work. */
export interface Endpoint {
  /** Unique in its cluster, fit for a label: `'10.0.0.1:8080'`. */
  readonly id: string
  /** Where it listens, as its adapter understands it: `'http://10.0.0.1:8080'`. Default: the id. */
  readonly address?: string
  /** Its strength beside the others. Default 1; 0 gets nothing. */
  readonly weight?: number
  readonly zone?: string
}

/**
 * What a call is about, for limits per value: the arguments of a function, or the parts of a request by name (`'header:x-user'`, `'path:1'`,
 * `'query:item'`). Undefined: there is none of that name.
 */
export type CallParameters = readonly unknown[] | ((name: string) => unknown)

/** What a caller may say about a call. Everything is optional. */
export interface Init {
  /** The call on whose behalf this one is made: deadline, abort and criticality are inherited. */
  readonly parent?: Call
  /** Milliseconds for the whole operation; a parent's deadline can only be shortened. */
  readonly within?: number
  /** Ends the call; its reason comes through by identity. */
  readonly signal?: AbortSignal
  readonly criticality?: Criticality
  readonly cost?: number
  readonly key?: string | number
  /** Milliseconds that it has waited before the call was made: in a socket, for the event loop. Default 0. */
  readonly waitedMs?: number
  /** Where it stands in its class under overload, 0 (goes first) to below 128: said by a caller further out. Default: by `key`, else by chance. */
  readonly cohort?: number
  /** So many calls it stands for: its caller has refused the others itself, as they would have been here. Default 1. */
  readonly standsFor?: number
  /** A name for calls that cost alike, from a small set: `'GET /items'`. Endpoints judge their latency by it. */
  readonly method?: string
  /** Executing twice does no harm. Only then is work that may have run sent again. */
  readonly idempotent?: boolean
  /** The caller's own; floodwall does not look at it, but where a layer is told to. */
  readonly data?: unknown
  /** For `hotParameter`. Default: none. */
  readonly parameters?: CallParameters
  readonly classify?: Classify
}

/** Nothing said. @internal */
export const NOTHING: Init = Object.freeze({})

/** `within` is what a caller elsewhere has left: like a parent's deadline, its end is no evidence against anybody. @internal */
export interface Inherited extends Init {
  readonly inherited: true
}

/** What the calls of one pipeline have in common. @internal */
export interface Host {
  readonly env: Env
  readonly classify: Classify
  readonly criticality: Criticality
  readonly aborts: Aborts
  readonly ambient: Ambient
  readonly detachments: Detachments
  /** The clock as the gates see it while they are asked: one box for all calls, where a field of each call would allocate one. */
  now: number
}

/** Work as a function of the call, or as callbacks (`start`). @internal */
export type Run = (call: Call, done: Done) => unknown

/** The same, or as an object. @internal */
export type Work = Run | Task
