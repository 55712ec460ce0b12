import type { Layer } from './layer.ts'

// Do two layers say the same?
//
// Options are plain, so that they can be written anew and still be the same. Gates, pickers and functions in them are what they are: two functions
// of one text may remember different things.
//
// { openFor: '2s' } and { openFor: 2000 } are the same once they are validated; { openFor: () => 2000 } is the same as itself only.

/** True when a reload need not change anything. */
export function sameOptions(a: Layer, b: Layer): boolean {
  return a === b || (a.kind === b.kind && same(a.options, b.options))
}

/** Plain objects and lists by value, whatever else by identity. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (isLayer(a) && isLayer(b)) return sameOptions(a, b)
  if (!isPlain(a) || !isPlain(b)) return false
  const left = Object.entries(a)
  if (left.length !== Object.keys(b).length) return false
  return left.every(([key, value]) => same(value, (b as Record<string, unknown>)[key]))
}

function isLayer(value: object): value is Layer {
  return 'build' in value && 'options' in value
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}
