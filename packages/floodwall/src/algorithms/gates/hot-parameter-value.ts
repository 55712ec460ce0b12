import type { Ask } from '../../core/gate.ts'
import type { Init } from '../../core/init.ts'
import { show } from '../../core/schema.ts'
import { type HashSeed, KeyHash } from '../keys/hash.ts'

// What is this call about, and can that be limited?
//
// A parameter is an argument (`0`, `-1` is the last one), a part of the request (`'query:item'`), a field of the call's data (`'user.id'`), or what a
// function says. Values are equal as in a Map, and the same for the check, the count and the overrides: 1 and "1" are two, NaN is one, 0 and -0 are
// one. A text of more than 256 characters is told from others by its length and a hash of it, so that nobody's text fills the memory.
//
// ['ann', 42] and parameter 1: 42. Parameter 2: none, and the rule does not apply.
//
// Invariant: reading never throws out of here, a value is small, and what is no value is never "none".

/** What can be limited. */
export type ParameterValue = string | number | boolean | bigint

/** A call, as far as its caller has told of it; one that a test made by hand has no `init`. */
export interface Told extends Ask {
  readonly init?: Pick<Init, 'data' | 'parameters'> | undefined
}

/** From the call to the value. */
export type ParameterOf = (call: Told) => unknown

/** Which parameter: the index of an argument, a name, or a function. */
export type Parameter = number | string | ParameterOf

/** What is there and cannot be limited: an object, a list, a function. Those share one limit. */
export const OTHERS: unique symbol = Symbol('others')

/** A text of 256 characters is as long as its own hash and some of it would be. */
const LONGEST = 256
/** Longer than the longest request line that Node takes; to hash more would be work that strangers order. */
const LONGEST_HASHED = 65_536
/** What a refusal shows of it. */
const LONGEST_SHOWN = 40
const HEAD = 12
const BITS = 64

/** Reads the parameter of a call; may throw what a function or a getter throws. */
export function readerOf(parameter: Parameter): ParameterOf {
  if (typeof parameter === 'function') return parameter
  if (typeof parameter === 'number') return ({ init }) => argumentOf(init, parameter)
  if (parameter.includes(':')) return ({ init }) => partOf(init, parameter)
  const steps = parameter.split('.')
  return ({ init }) => fieldOf(init?.data, steps)
}

function argumentOf(init: Told['init'], index: number): unknown {
  const given = init?.parameters
  return given === undefined || typeof given === 'function' ? undefined : given.at(index)
}

function partOf(init: Told['init'], name: string): unknown {
  const given = init?.parameters
  return typeof given === 'function' ? given(name) : undefined
}

/** Own fields only: `constructor` is nobody's value. */
function fieldOf(data: unknown, steps: readonly string[]): unknown {
  let at = data
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined
    at = (at as Record<string, unknown>)[step]
  }
  return at
}

/** Makes values of what was read. */
export class Values {
  private readonly hashes: readonly KeyHash[]

  /** @param seed four numbers in [0, 1) that strangers do not know */
  constructor(seed: HashSeed) {
    const [a, b, c, d] = seed
    this.hashes = [new KeyHash(seed), new KeyHash([d, c, b, a])]
  }

  /** Undefined: there is none. */
  of(read: unknown): ParameterValue | typeof OTHERS | undefined {
    switch (typeof read) {
      case 'string':
        return read.length <= LONGEST ? read : this.shortened(read)
      case 'number':
      case 'boolean':
        return read
      case 'bigint':
        return BigInt.asIntN(BITS, read) === read ? read : OTHERS
      case 'undefined':
        return undefined
      default:
        return read === null ? undefined : OTHERS
    }
  }

  private shortened(text: string): string | typeof OTHERS {
    if (text.length > LONGEST_HASHED) return OTHERS
    const hashed = this.hashes.map((hash) => hashOf(text, hash).toString(36)).join('-')
    // So short a part is a copy; a longer one would keep the whole text alive.
    return `${text.slice(0, HEAD)}… ${text.length}-${hashed}`
  }
}

/** Block by block, each with the hash of those before it: the words of a hash are as many as the longest text. */
function hashOf(text: string, by: KeyHash): number {
  let hash = 0
  for (let at = 0; at < text.length; at += LONGEST) hash = by.ofText(`${hash} ${text.slice(at, at + LONGEST)}`) >>> 0
  return hash
}

/** A value as a refusal shows it: short, in one line, letters that no terminal obeys. */
export function printable(value: unknown): string {
  if (value === OTHERS) return 'others'
  const cut = typeof value === 'string' && value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value
  return show(cut).replace(/[^ -~…]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
