import type { Endpoint } from '../../core/init.ts'
import { show } from '../../core/schema.ts'
import { writtenEndpoints } from './endpoint-list.ts'

// What does a file of endpoints say?
//
// A list in JSON, or a line for each: `10.0.0.1:8080`, `10.0.0.2:8080 2 zone-a`, `# a comment`. A file that was cut in the middle must not
// pass for a shorter list: JSON has its bracket at the end, lines have their last newline.

/** A list in JSON: empty, or of objects or strings. Else a bracket begins an IPv6 address. */
const JSON_LIST = /^\s*\[\s*["{\]]/
const PLACE = /^(?:https?:\/\/)?(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/
const WEIGHT = /^\d{1,9}(?:\.\d{1,6})?$/

/** The endpoints in `text`. Throws an error that says where and why. */
export function endpointsIn(text: string): Endpoint[] {
  const content = text.replace(/^\uFEFF/, '')
  if (content.trim() === '') throw new Error('the file is empty')
  if (JSON_LIST.test(content)) return writtenEndpoints(JSON.parse(content), 'endpoints')
  if (!content.endsWith('\n')) throw new Error('the last line has no newline, so the file may not be whole')
  const endpoints = content.split('\n').flatMap((line, i) => endpointIn(line, i + 1))
  return writtenEndpoints(endpoints, 'endpoints')
}

function endpointIn(line: string, number: number): Endpoint[] {
  const words = line.replace(/(?:^|\s)#.*/, '').match(/\S+/g)
  if (words === null) return []
  const [place = '', ...rest] = words
  const weight = rest[0] !== undefined && WEIGHT.test(rest[0]) ? Number(rest.shift()) : 1
  const [zone, ...more] = rest
  const port = Number(PLACE.exec(place)?.[1] ?? 0)
  if (port < 1 || port > 65_535 || more.length > 0 || (zone !== undefined && /^[-\d]/.test(zone)))
    throw new Error(`line ${number}: expected "host:port weight zone", got ${show(line.trim())}`)
  return [{ id: place, weight, ...(zone !== undefined && { zone }) }]
}
