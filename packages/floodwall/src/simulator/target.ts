import * as v from 'valibot'
import type { Next } from '../core/policy.ts'

/** What a call can be sent to. */
export interface Target {
  /** The work of a pipeline: takes the call, and answers `done` once. */
  readonly serve: Next
}

/** For schemas: a {@link Target}. */
export const target: v.GenericSchema<Target, Target> = v.custom<Target>(
  (input) => typeof input === 'object' && input !== null && typeof (input as Partial<Target>).serve === 'function',
  'a server, or anything with a serve function',
)
