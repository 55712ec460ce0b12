// HTTP/1.1 by the letter of RFC 9112, written apart from any parser that is under test. It reads what a sender has sent and says which
// messages that was, and where it stopped making sense. Bytes as latin1 text: one character, one byte.

/** @typedef {[name: string, value: string][]} Fields names in lower case */

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} target
 * @property {number} minor of HTTP/1.x
 * @property {Fields} fields
 * @property {string} body
 * @property {Fields} trailers
 * @property {boolean} last the sender has said that nothing follows
 * @property {boolean} upgrade it asks for another protocol, which the server may well not hear (RFC 9110, 7.8)
 */

/**
 * @typedef {object} Response
 * @property {number} status
 * @property {Fields} fields
 * @property {string} body
 * @property {boolean} interim
 * @property {boolean} byClose the end of the connection is the end of it
 */

/**
 * Not a whole message: either `wrong`, or more may come.
 *
 * @typedef {{ end?: undefined, wrong?: string, more?: true }} Unfinished
 */

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
// More than one blank is allowed to be one (RFC 9112, 3).
const REQUEST_LINE = /^([!#$%&'*+.^`|~\w-]+) +([\x21-\x7e\x80-\xff]+) +HTTP\/1\.([01])$/
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3}) ([\t\x20-\x7e\x80-\xff]*)$/

/**
 * More is in order, and not here yet.
 *
 * @type {Unfinished}
 */
const more = { more: true }

/**
 * @param {string} reason
 * @returns {Unfinished}
 */
const wrong = (reason) => ({ wrong: reason })

/** @param {string} text */
const quoted = (text) => JSON.stringify(text.slice(0, 60))

/**
 * The header lines from `at`.
 *
 * @param {string} text
 * @param {number} at
 * @returns {{ fields: Fields, end: number } | Unfinished}
 */
function fieldsAt(text, at) {
  /** @type {Fields} */
  const fields = []
  for (;;) {
    const eol = text.indexOf('\n', at)
    if (eol < 0) return text.length - at > 200_000 ? wrong('a line without end') : more
    if (text[eol - 1] !== '\r') return wrong('a line that ends in a bare LF')
    const line = text.slice(at, eol - 1)
    at = eol + 1
    if (line === '') return { fields, end: at }
    const colon = line.indexOf(':')
    if (colon < 0) return wrong(`no colon in ${quoted(line)}`)
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    if (!TOKEN.test(name)) return wrong(`not a name: ${quoted(name)}`)
    if (!VALUE.test(value)) return wrong(`not a value: ${quoted(value)}`)
    fields.push([name.toLowerCase(), value])
  }
}

/**
 * @param {Fields} fields
 * @param {string} name in lower case
 */
const all = (fields, name) => fields.filter(([given]) => given === name).map(([, value]) => value)

/**
 * What `Connection` says, in lower case.
 *
 * @param {Fields} fields
 */
export const connectionOf = (fields) =>
  all(fields, 'connection')
    .join(',')
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())

/**
 * How the message says it is framed, or what is wrong with that.
 *
 * @param {Fields} fields
 * @param {number} minor
 * @returns {{ kind: 'none' | 'chunked' } | { kind: 'length', bytes: number } | { kind: 'wrong', wrong: string }}
 */
function framingOf(fields, minor) {
  const lengths = all(fields, 'content-length')
  const codings = all(fields, 'transfer-encoding')
  const [length = ''] = lengths
  if (codings.length > 0) {
    if (minor === 0) return { kind: 'wrong', wrong: 'a transfer coding in HTTP/1.0' }
    if (lengths.length > 0) return { kind: 'wrong', wrong: 'a length and a transfer coding' }
    if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked')
      return { kind: 'wrong', wrong: 'a transfer coding that is not "chunked"' }
    return { kind: 'chunked' }
  }
  if (lengths.length === 0) return { kind: 'none' }
  if (lengths.length > 1 || !/^0*\d{1,15}$/.test(length))
    return { kind: 'wrong', wrong: 'a length that is none, or not alone' }
  return { kind: 'length', bytes: Number(length) }
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {{ body: string, trailers: Fields, end: number } | Unfinished}
 */
function chunksAt(text, at) {
  let body = ''
  for (;;) {
    const eol = text.indexOf('\n', at)
    if (eol < 0) return text.length - at > 20_000 ? wrong('a chunk line without end') : more
    const line = text.slice(at, eol)
    if (!line.endsWith('\r')) return wrong('a chunk line that ends in a bare LF')
    const [, digits] = /^0*([0-9a-f]{1,13})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r$/i.exec(line) ?? []
    if (digits === undefined) return wrong(`not a chunk: ${quoted(line)}`)
    const size = Number.parseInt(digits, 16)
    at = eol + 1
    if (size === 0) {
      const trailers = fieldsAt(text, at)
      return trailers.end === undefined ? trailers : { body, end: trailers.end, trailers: trailers.fields }
    }
    if (text.length < at + size + 2) return more
    if (text.slice(at + size, at + size + 2) !== '\r\n') return wrong('a chunk that is longer than it said')
    body += text.slice(at, at + size)
    at += size + 2
  }
}

/**
 * The request that begins at `at`.
 *
 * @param {string} text
 * @param {number} at
 * @returns {(Request & { end: number, wrong?: undefined }) | Unfinished}
 */
export function requestAt(text, at) {
  // Empty lines between requests are nobody's (RFC 9112, 2.2), however they end.
  while (text[at] === '\r' || text[at] === '\n') at++
  if (at >= text.length) return more
  const eol = text.indexOf('\n', at)
  if (eol < 0) return text.length - at > 200_000 ? wrong('a line without end') : more
  if (text[eol - 1] !== '\r') return wrong('a request line that ends in a bare LF')
  const [, method, target, version] = REQUEST_LINE.exec(text.slice(at, eol - 1)) ?? []
  if (method === undefined || target === undefined) return wrong('not a request line')
  const minor = Number(version)
  const head = fieldsAt(text, eol + 1)
  if (head.end === undefined) return head
  const { fields } = head
  const hosts = all(fields, 'host')
  if (hosts.length > 1 || (hosts.length === 0 && minor === 1)) return wrong(`${hosts.length} hosts`)
  const framing = framingOf(fields, minor)
  const connection = connectionOf(fields)
  const last = connection.includes('close') || (minor === 0 && !connection.includes('keep-alive'))
  const upgrade = connection.includes('upgrade') && all(fields, 'upgrade').length > 0
  const request = { method, target, minor, fields, body: '', trailers: [], last, upgrade }
  switch (framing.kind) {
    case 'wrong':
      return wrong(framing.wrong)
    case 'none':
      return { ...request, end: head.end }
    case 'length': {
      const end = head.end + framing.bytes
      return text.length < end ? more : { ...request, body: text.slice(head.end, end), end }
    }
    case 'chunked': {
      const chunks = chunksAt(text, head.end)
      return chunks.end === undefined ? chunks : { ...request, ...chunks }
    }
  }
}

/**
 * All requests of a stream, up to its end or to where it stops making sense; `rest` is where nothing may be a request any more.
 *
 * @param {string} text
 * @returns {{ requests: Request[], wrong?: string | undefined, rest: string }}
 */
export function requestsIn(text) {
  const requests = []
  for (let at = 0; ; ) {
    const found = requestAt(text, at)
    if (found.end === undefined) return { requests, wrong: found.wrong, rest: text.slice(at) }
    requests.push(found)
    at = found.end
    if (found.last || found.method === 'CONNECT') return { requests, rest: text.slice(at) }
  }
}

/**
 * The response that begins at `at`.
 *
 * @param {string} text
 * @param {number} at
 * @param {string} method of the request that it answers
 * @param {boolean} closed nothing more will come
 * @returns {(Response & { end: number, wrong?: undefined }) | Unfinished}
 */
export function responseAt(text, at, method, closed) {
  if (at >= text.length) return more
  const eol = text.indexOf('\n', at)
  if (eol < 0) return more
  if (text[eol - 1] !== '\r') return wrong('a status line that ends in a bare LF')
  const [, version, digits] = STATUS_LINE.exec(text.slice(at, eol - 1)) ?? []
  if (digits === undefined) return wrong(`not a status line: ${quoted(text.slice(at))}`)
  const status = Number(digits)
  const head = fieldsAt(text, eol + 1)
  if (head.end === undefined) return head
  const { fields } = head
  const response = { status, fields, body: '', interim: status < 200, byClose: false }
  if (response.interim) return { ...response, end: head.end }
  const framing = framingOf(fields, Number(version))
  if (framing.kind === 'wrong') return wrong(framing.wrong)
  if (method === 'HEAD' || status === 204 || status === 304) return { ...response, end: head.end }
  switch (framing.kind) {
    case 'length': {
      const end = head.end + framing.bytes
      return text.length < end ? more : { ...response, body: text.slice(head.end, end), end }
    }
    case 'chunked': {
      const chunks = chunksAt(text, head.end)
      return chunks.end === undefined ? chunks : { ...response, body: chunks.body, end: chunks.end }
    }
    case 'none':
      return closed ? { ...response, body: text.slice(head.end), end: text.length, byClose: true } : more
  }
}
