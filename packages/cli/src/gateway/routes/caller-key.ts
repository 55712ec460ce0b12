import { networkOf, onlyLine } from 'floodwall/server'
import type { KeyPart } from '../config/key-options.ts'
import type { RequestHead } from '../heads/request-head.ts'

// Whose is a request, for the layers that count each caller on his own?
//
// The address is that of the client, as the gateway tells it the server: the sender, or whom trusted peers name. Who cannot be told by what the route
// says is known by it, and is never one of many under one key. Keys of different kinds never meet, as those of the library (server/caller-key.ts).

/** A key of an API or a name of a user is shorter; a longer one is none. */
const MOST_VALUE = 256
/** Where no address is asked for: as the library has it. */
const usual = { v4Prefix: 32, v6Prefix: 64 } as const

/** `trusted`: its sender is, and may say who its user is. */
export function keyOf(parts: readonly KeyPart[], head: RequestHead, trusted: boolean): string {
  for (const part of parts) {
    const key = partOf(part, head, trusted)
    if (key !== undefined) return key
  }
  return networkOf(head.client, usual) ?? ''
}

function partOf(part: KeyPart, head: RequestHead, trusted: boolean): string | undefined {
  if (part.by === 'address') return networkOf(head.client, part)
  if (part.by === 'user' && !trusted) return undefined
  const value = onlyLine(head.raw, part.name)
  if (value === '' || value.length > MOST_VALUE) return undefined
  return `${part.by === 'user' ? 'user' : part.name}=${value}`
}
