// How many connections can be kept open here? Each is a descriptor in the server and one in a client, and the server needs
// some for its files, its listeners and its connections to the upstream.
import { readFileSync } from 'node:fs'

const RESERVED = 512
/** With fewer, what a process gains or loses by itself is more than a connection costs. */
const FEWEST = 1000

/** Node has raised the soft limit to the hard one when it started, and children inherit that. */
export const openFilesLimit = () => limitIn(readFileSync('/proc/self/limits', 'latin1'))

/** The soft limit in a text such as /proc/self/limits. */
export function limitIn(text) {
  const found = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)
  if (found === null) throw new Error('/proc/self/limits does not tell how many files may be open')
  return found[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found[1])
}

/** As many of `wanted` as fit under `limit`. */
export function connectionsUnder(limit, wanted) {
  const most = Math.min(wanted, limit - RESERVED)
  if (most >= FEWEST) return most
  throw new Error(
    `the limit of open files is ${limit}: ${FEWEST + RESERVED} are the fewest for a figure per connection (ulimit -n)`,
  )
}
