import { addressPrefixes } from 'floodwall/server'
import * as v from 'valibot'

/** One way to tell whose a request is. */
export type KeyPart =
  | { readonly by: 'address'; readonly v4Prefix: number; readonly v6Prefix: number }
  /** Lower case. A header of users is believed from trusted peers only. */
  | { readonly by: 'header' | 'user'; readonly name: string }

const form = 'address, { address: { v6Prefix: 56 } }, { header: X-Api-Key }, { user: X-User }, or a list of them'
const headerForm = 'the name of a header'
/** Nobody is known in more ways. */
const MOST_PARTS = 8

const headerName = v.pipe(
  v.string(headerForm),
  v.regex(/^[!#$%&'*+.^`|~\w-]{1,100}$/, headerForm),
  v.transform((text) => text.toLowerCase()),
)
const prefixes = v.strictObject(addressPrefixes)

const byAddress = v.pipe(
  v.strictObject({ address: prefixes }),
  v.transform(({ address }): KeyPart => ({ by: 'address', ...address })),
)
const byHeader = v.pipe(
  v.strictObject({ header: headerName }),
  v.transform(({ header }): KeyPart => ({ by: 'header', name: header })),
)
const byUser = v.pipe(
  v.strictObject({ user: headerName }),
  v.transform(({ user }): KeyPart => ({ by: 'user', name: user })),
)
const plainAddress = v.pipe(
  v.literal('address', form),
  v.transform((): KeyPart => ({ by: 'address', ...v.parse(prefixes, {}) })),
)

/** The one that is meant, so that a fault is told of it and not of all. */
const keyPart = v.lazy((given): v.GenericSchema<unknown, KeyPart> => {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return plainAddress as v.GenericSchema<unknown, KeyPart>
  if ('address' in given) return byAddress as v.GenericSchema<unknown, KeyPart>
  if ('header' in given) return byHeader as v.GenericSchema<unknown, KeyPart>
  if ('user' in given) return byUser as v.GenericSchema<unknown, KeyPart>
  return v.custom<KeyPart>(() => false, form)
})

const keyParts = v.pipe(v.array(keyPart, form), v.minLength(1, form), v.maxLength(MOST_PARTS, `at most ${MOST_PARTS}`))

/** `key: address`, `key: [{ header: X-Api-Key }, address]`: the first that is there. */
export const keyOption: v.GenericSchema<unknown, readonly KeyPart[]> = v.lazy((given) =>
  Array.isArray(given)
    ? keyParts
    : v.pipe(
        keyPart,
        v.transform((part) => [part]),
      ),
)
