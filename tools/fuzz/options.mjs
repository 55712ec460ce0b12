// The command line of the fuzzer.
import { parseArgs } from 'node:util'

export const HELP = `npm run fuzz -- [options]
Sends the gateway what hostile clients and broken servers would, byte by byte, and compares what each side believes the requests were.

  --seconds N       for so long (default: 60)
  --connections N   so many connections instead
  --seed N[-M]      other cases (default: 1); of several seeds each has its turn, with a gateway of its own, for so long each
  --case N          only this one; shows its bytes, and what each side made of them
  --bin FILE        another build of the gateway: its packages/cli/bin/floodwall.js

A seed and a number are a case, always the same bytes. Each finding says how to see its case again. One that needs its neighbours does
not come back alone: then run the seed up to it, with --connections.

After the first 10,000 connections and after the last one the fuzzer waits until nothing is connected, and looks at what the gateway
holds. It is a leak if there are more descriptors than at the first look, or over 64 MiB more memory (RSS; both known on Linux only), or
if a request or a connection is still counted after 15 s.

Ends with 0 when nothing was found, 1 when something was (it stops at 20 findings), 2 when it could not begin. Ctrl-C ends it early, with
what was found so far.`

/** Somebody asked for what there is not. */
export class UsageError extends Error {}

/**
 * @typedef {object} Asked
 * @property {boolean} help
 * @property {number} seconds
 * @property {number | undefined} connections
 * @property {readonly number[]} seeds
 * @property {number | undefined} only
 * @property {string | undefined} bin
 */

/**
 * @param {readonly string[]} args
 * @returns {Asked}
 * @throws {UsageError}
 */
export function asked(args) {
  const values = parsed(args)
  const { help = false, bin } = values
  if (values.seconds !== undefined && values.connections !== undefined)
    throw new UsageError('--seconds, --connections: one or the other')
  const only = whole('case', values.case)
  const seeds = range('seed', values.seed ?? '1')
  if (only !== undefined && seeds.length > 1) throw new UsageError('--case: expected one --seed')
  const connections = whole('connections', values.connections)
  return { help, seconds: whole('seconds', values.seconds) ?? 60, connections, seeds, only, bin }
}

/** @param {readonly string[]} args */
function parsed(args) {
  const text = /** @type {const} */ ({ type: 'string' })
  const options = {
    seconds: text,
    connections: text,
    seed: text,
    case: text,
    bin: text,
    help: /** @type {const} */ ({ type: 'boolean' }),
  }
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

/**
 * @param {string} name
 * @param {string | undefined} text
 */
function whole(name, text) {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name}: expected a whole number, got ${JSON.stringify(text)}`)
  return Number(text)
}

/**
 * @param {string} name
 * @param {string} text
 * @returns {number[]}
 */
function range(name, text) {
  const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? []
  const from = Number(first)
  const count = Number(last) - from + 1
  if (first !== undefined && count >= 1 && count <= 1000) return Array.from({ length: count }, (_, i) => from + i)
  throw new UsageError(`--${name}: expected a whole number, or two as in 1-8, got ${JSON.stringify(text)}`)
}
