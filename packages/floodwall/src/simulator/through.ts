import * as v from 'valibot'
import { ConfigError } from '../core/errors.ts'
import type { Layer } from '../core/layer.ts'
import { Pipeline } from '../core/pipeline.ts'
import type { World } from './world.ts'

// The floodwall that calls pass: layers, of which the world makes a pipeline, or a pipeline that several share.

/** Layers, outermost first, or a pipeline made with `{ runtime: world }`. */
export type Through = readonly Layer[] | Pipeline

/** For schemas: a {@link Through}. */
export const through: v.GenericSchema<Through, Through> = v.custom<Through>(
  (input) => input instanceof Pipeline || (Array.isArray(input) && input.every(isLayer)),
  'a list of layers such as [breaker()], or a pipeline',
)

function isLayer(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'build' in value && 'kind' in value
}

/** True for no layers at all. */
export function isEmpty(given: Through): boolean {
  return !(given instanceof Pipeline) && given.length === 0
}

/**
 * The pipeline of `given`, called `name` when it has to be made.
 * @throws ConfigError that names `path` when it is one that lives in another time
 */
export function pipelineOf(world: World, name: string, given: Through, path: string): Pipeline {
  if (!(given instanceof Pipeline)) return new Pipeline(name, given, { runtime: world, shared: world.shared })
  // Its timers would be real ones, and no virtual minute would make them ring.
  if (given['env'].now === world.now) return given
  throw new ConfigError([{ path, value: given.path, expected: 'a pipeline made with { runtime: world }' }])
}
