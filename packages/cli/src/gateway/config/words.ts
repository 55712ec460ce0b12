import { toBytes } from 'floodwall'
import * as v from 'valibot'

// The words of the gateway's settings that layers have no use for.

/** A name for people, metrics and logs: short, and safe in all of them. */
export const name: v.GenericSchema<string, string> = v.pipe(
  v.string('a name'),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'a name: letters, digits, ".", "_" and "-", at most 64'),
)

/** A whole number from `least` to `most`. */
export function whole(least: number, most: number): v.GenericSchema<number, number> {
  return v.custom<number>(
    (given) => typeof given === 'number' && Number.isInteger(given) && given >= least && given <= most,
    `a whole number from ${least} to ${most}`,
  )
}

const MOST_BYTES = 2 ** 50

/** A number of bytes, 0 or more: `65536`, `"64KiB"`, `"10MB"`. */
export const bytes: v.GenericSchema<number | string, number> = v.pipe(
  v.custom<number | string>(
    (given) => toBytes(given) <= MOST_BYTES,
    'a number of bytes such as 65536, "64KiB" or "10MB"',
  ),
  v.transform((given: number | string) => toBytes(given)),
)

/** Layers are parsed by the rules, which know the kinds; here they only have a place. */
export const layerList: v.GenericSchema<unknown[] | undefined, unknown[] | undefined> = v.optional(
  v.array(v.unknown(), 'a list of layers'),
)

/** One, or several. */
export function listOf<I, O>(
  one: v.GenericSchema<I, O>,
  most: number,
  expected: string,
): v.GenericSchema<I | readonly I[], readonly O[]> {
  const many = v.pipe(v.array(one, expected), v.minLength(1, expected), v.maxLength(most, `at most ${most} of them`))
  return v.lazy((given) =>
    Array.isArray(given)
      ? many
      : v.pipe(
          one,
          v.transform((value) => [value]),
        ),
  ) as v.GenericSchema<I | readonly I[], readonly O[]>
}

/** A text from which `make` makes something; undefined: it is none. */
export function made<T>(make: (text: string) => T | undefined, form: string): v.GenericSchema<string, T> {
  return v.pipe(
    v.string(form),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const found = make(dataset.value)
      if (found !== undefined) return found
      addIssue({ message: form })
      return NEVER
    }),
  )
}
