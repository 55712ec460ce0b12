import { names } from '../wire/names.ts'

/** Headers as `request` takes them: an object; what has pairs (a `Headers`, a `Map`, a list of them) is taken too. */
export type GivenHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** As an object without those in `without` (lower case), whose `baggage` is one line under this name. Throws a TypeError on what has no pairs. */
export function ownHeaders(given: GivenHeaders | undefined, without: readonly string[]): Record<string, unknown> {
  const own: Record<string, unknown> = {}
  if (given === undefined) return own
  for (const [name, value] of pairsOf(given)) {
    const lower = name.toLowerCase()
    if (without.includes(lower) || value === undefined) continue
    if (lower === names.baggage) own[lower] = [own[lower], value].flat().filter(Boolean).join(',')
    else if (name in own) own[name] = [own[name], value].flat()
    else own[name] = value
  }
  return own
}

function pairsOf(given: GivenHeaders): Iterable<readonly [string, string | readonly string[] | undefined]> {
  if (!(Symbol.iterator in given)) return Object.entries(given)
  const pairs = [...(given as unknown as Iterable<readonly [string, string]>)]
  const valid = pairs.every((pair: unknown) => Array.isArray(pair) && typeof pair[0] === 'string')
  if (!valid) throw new TypeError('expected headers as an object, or as pairs of name and value')
  return pairs
}
