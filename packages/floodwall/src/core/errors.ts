import { showMs } from './duration.ts'
import type { Reason, Rejection } from './gate.ts'

// Three errors: nothing ran (RejectedError), something may have run (TimeoutError), the options were wrong (ConfigError).
// Each carries a `code` from a closed set, printed first. Predicates look for a registered symbol, so that they also work when two copies
// of the package are loaded.

const BRAND: unique symbol = Symbol.for('floodwall.error') as never

type Brand = 'rejected' | 'timeout' | 'config'

function branded(error: unknown, brand: Brand): boolean {
  return typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === brand
}

/** Errors made on hot paths have no stack: it would cost 5 µs and point into our own code. */
export function stackless<E>(make: () => E): E {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  const error = make()
  Error.stackTraceLimit = limit
  return error
}

/** A gate refused the call; nothing was executed, so it is safe to send it elsewhere. */
export class RejectedError extends Error {
  /** The reason, for example `'open'`, `'full'`, `'rate'`. */
  readonly code: Reason
  readonly rejection: Rejection

  constructor(rejection: Rejection) {
    super()
    this.code = rejection.reason
    this.rejection = rejection
  }

  /** When asking again makes sense, in milliseconds; 0: no estimate. */
  get retryAfterMs(): number {
    return this.rejection.retryAfterMs
  }

  /** Which layer refused: `'inventory/breaker'`. */
  get path(): string {
    return this.rejection.gate.path
  }

  /** Composed when read: most refusals are never printed. */
  override get message(): string {
    const { rejection } = this
    const again = rejection.never
      ? '; it can never pass'
      : rejection.retryAfterMs > 0
        ? `; try again in ${showMs(rejection.retryAfterMs)}`
        : ''
    return `[${rejection.reason}] refused by ${rejection.gate.path}: ${rejection.why}${again}`
  }

  override get name(): string {
    return 'RejectedError'
  }

  /** @internal */
  get [BRAND](): Brand {
    return 'rejected'
  }
}

/** The error of a refusal, without a stack. */
export function rejectedError(rejection: Rejection): RejectedError {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  const error = new RejectedError(rejection)
  Error.stackTraceLimit = limit
  return error
}

/** Time ran out; the work may have been executed, and may still run. */
export class TimeoutError extends Error {
  /** `'timeout'`: this attempt took too long; `'deadline'`: the whole operation did. */
  readonly code: 'timeout' | 'deadline'
  readonly path: string
  /** How long it was given, in milliseconds. */
  readonly afterMs: number

  constructor(code: 'timeout' | 'deadline', path: string, afterMs: number) {
    super(`[${code}] ${path}: no answer within ${showMs(afterMs)}`)
    this.code = code
    this.path = path
    this.afterMs = afterMs
  }

  override get name(): string {
    return 'TimeoutError'
  }

  /** @internal */
  get [BRAND](): Brand {
    return 'timeout'
  }
}

/** @see TimeoutError */
export function timeoutError(code: 'timeout' | 'deadline', path: string, afterMs: number): TimeoutError {
  return stackless(() => new TimeoutError(code, path, afterMs))
}

/**
 * What became of several attempts of one call, none of which succeeded: each error is in it by identity, the first one is its `cause`. Who looks
 * at its `code`, or asks {@link isTimeout}, hears what the first would have said; of timeouts only where all are.
 */
export function attemptsError(path: string, errors: readonly unknown[]): AggregateError {
  const [cause] = errors
  const message = `${path}: ${errors.length} attempts have failed: ${errors.map(messageOf).join('; ')}`
  const error = stackless(() => new AggregateError(errors, message, { cause }))
  // Across the edge of a pipeline an error is all that comes: it says itself that there is no use in more.
  Object.assign(error, { noRetry: true })
  if (errors.every(isTimeout)) {
    const { code, path: by, afterMs } = cause as TimeoutError
    return Object.assign(error, { [BRAND]: 'timeout', code, path: by, afterMs })
  }
  const code = fieldOf(cause, 'code')
  return isTimeout(cause) || typeof code !== 'string' ? error : Object.assign(error, { code })
}

function messageOf(error: unknown): string {
  const message = typeof error === 'string' ? error : fieldOf(error, 'message')
  return typeof message === 'string' ? message : 'unknown'
}

/** A field of a stranger's error: a getter that throws must not become an error of ours. */
function fieldOf(error: unknown, name: string): unknown {
  try {
    return typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[name] : undefined
  } catch {
    return undefined
  }
}

/** One thing wrong with a configuration. */
export interface ConfigIssue {
  /** Where: `'inventory[2].openFor'`. */
  readonly path: string
  /** What stood there, printed safely. */
  readonly value: string
  readonly expected: string
}

/** Options or a document were wrong. Nothing was changed; every fault is listed. */
export class ConfigError extends Error {
  readonly code = 'config'
  readonly issues: readonly ConfigIssue[]

  constructor(issues: readonly ConfigIssue[]) {
    super(`[config] ${issues.map((i) => `${i.path}: expected ${i.expected}, got ${i.value}`).join('; ')}`)
    this.issues = issues
  }

  override get name(): string {
    return 'ConfigError'
  }

  /** @internal */
  get [BRAND](): Brand {
    return 'config'
  }
}

/** True for a {@link RejectedError} of any copy of the package. */
export function isRejected(error: unknown): error is RejectedError {
  return branded(error, 'rejected')
}

/** True for a {@link TimeoutError} of any copy of the package. */
export function isTimeout(error: unknown): error is TimeoutError {
  return branded(error, 'timeout')
}

/** True for a {@link ConfigError} of any copy of the package. */
export function isConfigError(error: unknown): error is ConfigError {
  return branded(error, 'config')
}
