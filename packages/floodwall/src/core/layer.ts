import * as v from 'valibot'
import type { Gate } from './gate.ts'
import { Around, type AsyncPolicy, type Policy } from './policy.ts'
import { type Env, envOf } from './runtime.ts'
import { parse, type Schema } from './schema.ts'
import { systemRuntime } from './system.ts'

/**
 * Data with a recipe. Code writes layers, rules parse into them, a reload compares them, `explain()` prints them, the simulator builds
 * them on a virtual runtime.
 */
export interface Layer {
  readonly kind: string
  /** The validated settings: plain, frozen, spans in milliseconds. */
  readonly options: object
  /** `previous` is what stood in this place before a reload; take over its state, or be built anew. Must not throw. */
  build(env: Env, previous?: Gate | Policy): Gate | Policy
}

/** A kind of layer: the function that makes one, with its schemas. One table of kinds serves code, rules, docs and editors. */
export interface Kind<I extends object = object, O extends object = object> {
  (...options: Record<never, never> extends I ? [options?: I] : [options: I]): Layer
  readonly kind: string
  readonly options: Schema<I, O>
  readonly snapshot: Schema
}

/** Makes a {@link Kind} from its name, the schemas of its options and of its snapshot, and its recipe. */
export function kindOf<I extends object, O extends object>(of: {
  readonly kind: string
  readonly options: v.GenericSchema<I, O>
  readonly snapshot: Schema
  readonly build: (settings: O, env: Env, previous: Gate | Policy | undefined) => Gate | Policy
}): Kind<I, O> {
  const { kind, build } = of
  const make = (options: unknown = {}): Layer => {
    const settings = Object.freeze(parse(of.options as v.GenericSchema<unknown, O>, options, kind))
    return { kind, options: settings, build: (env, previous) => build(settings, env, previous) }
  }
  return Object.assign(make, { kind, options: of.options, snapshot: of.snapshot }) as Kind<I, O>
}

/** Lifts a gate that exists already: how several pipelines share one breaker or bulkhead. */
export function gate(shared: Gate): Layer {
  return { kind: shared.kind, options: Object.freeze({ shared }), build: () => shared }
}

/** True for what {@link gate} made. */
export function isLifted(layer: Layer): boolean {
  return 'shared' in layer.options
}

/** A policy of your own, in async style. */
export function around(author: AsyncPolicy, kind = 'around'): Layer {
  return { kind, options: Object.freeze({ author }), build: (env) => new Around(author, env.path, kind) }
}

/** True for a gate, false for a policy. */
export function isGate(built: Gate | Policy): built is Gate {
  return 'tryAcquire' in built
}

/** True for a layer that makes a gate. Builds one for nobody: `build` has no effects. */
export function makesGate(layer: unknown): layer is Layer {
  if (typeof layer !== 'object' || layer === null || !('build' in layer)) return false
  return isGate((layer as Layer).build(envOf(systemRuntime, 'trial')))
}

/** Options as people read them: `slots 64 · queue 100`. */
export function showOptions(options: object): string {
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${showOption(value)}`)
    .join(' · ')
}

function showOption(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  if ('path' in value) return String(value.path)
  if ('build' in value && 'options' in value)
    return `${(value as Layer).kind} { ${showOptions((value as Layer).options)} }`
  return `{ ${showOptions(value)} }`
}

/** The snapshot schema that every kind extends: `v.strictObject({ ...snapshotOf('breaker'), state: ... })`. */
export function snapshotOf<const K extends string>(
  kind: K,
): { kind: v.LiteralSchema<K, undefined>; path: v.StringSchema<undefined> } {
  return { kind: v.literal(kind), path: v.string() }
}
