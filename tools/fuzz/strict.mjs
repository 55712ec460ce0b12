// HTTP/1.1 by the letter of RFC 9112, written apart from any parser that is under test. It reads what a sender has sent and says which
// messages that was, and where it stopped making sense. Bytes as latin1 text: one character, one byte.

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const REQUEST_LINE = /^([!#$%&'*+.^`|~\w-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3}) ([\t\x20-\x7e\x80-\xff]*)$/

/** More is in order, and not here yet. */
const more = { more: true }
const wrong = (reason) => ({ wrong: reason })

/** The header lines from `at`: `{ fields, end }`. */
function fieldsAt(text, at) {
  const fields = []
  for (;;) {
    const eol = text.indexOf('\n', at)
    if (eol < 0) return text.length - at > 200_000 ? wrong('a line without end') : more
    if (text[eol - 1] !== '\r') return wrong('a line that ends in a bare LF')
    const line = text.slice(at, eol - 1)
    at = eol + 1
    if (line === '') return { fields, end: at }
    const colon = line.indexOf(':')
    if (colon < 0) return wrong(`no colon in ${JSON.stringify(line.slice(0, 60))}`)
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    if (!TOKEN.test(name)) return wrong(`not a name: ${JSON.stringify(name.slice(0, 60))}`)
    if (!VALUE.test(value)) return wrong(`not a value: ${JSON.stringify(value.slice(0, 60))}`)
    fields.push([name.toLowerCase(), value])
  }
}

const all = (fields, name) => fields.filter(([given]) => given === name).map(([, value]) => value)

/** How the message says it is framed: `none`, `length`, `chunked`, or what is wrong with it. */
function framingOf(fields, minor) {
  const lengths = all(fields, 'content-length')
  const codings = all(fields, 'transfer-encoding')
  if (codings.length > 0) {
    if (minor === 0) return wrong('a transfer coding in HTTP/1.0')
    if (lengths.length > 0) return wrong('a length and a transfer coding')
    if (codings.length > 1 || codings[0].toLowerCase() !== 'chunked') return wrong('a transfer coding that is not "chunked"')
    return { kind: 'chunked' }
  }
  if (lengths.length === 0) return { kind: 'none' }
  if (lengths.length > 1 || !/^\d{1,15}$/.test(lengths[0])) return wrong('a length that is none, or not alone')
  return { kind: 'length', bytes: Number(lengths[0]) }
}

function chunksAt(text, at) {
  let body = ''
  for (;;) {
    const eol = text.indexOf('\n', at)
    if (eol < 0) return text.length - at > 20_000 ? wrong('a chunk line without end') : more
    const line = text.slice(at, eol)
    if (!line.endsWith('\r')) return wrong('a chunk line that ends in a bare LF')
    const parts = /^([0-9a-f]{1,13})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r$/i.exec(line)
    if (parts === null) return wrong(`not a chunk: ${JSON.stringify(line.slice(0, 60))}`)
    const size = Number.parseInt(parts[1], 16)
    at = eol + 1
    if (size === 0) {
      const trailers = fieldsAt(text, at)
      return trailers.end === undefined ? trailers : { body, end: trailers.end, trailers: trailers.fields }
    }
    if (text.length < at + size + 2) {
      // What is here of the end must be right already.
      return more
    }
    if (text.slice(at + size, at + size + 2) !== '\r\n') return wrong('a chunk that is longer than it said')
    body += text.slice(at, at + size)
    at += size + 2
  }
}

/** The request that begins at `at`. */
export function requestAt(text, at) {
  // Empty lines between requests are nobody's (RFC 9112, 2.2), however they end.
  while (text[at] === '\r' || text[at] === '\n') at++
  if (at >= text.length) return more
  const eol = text.indexOf('\n', at)
  if (eol < 0) return text.length - at > 200_000 ? wrong('a line without end') : more
  if (text[eol - 1] !== '\r') return wrong('a request line that ends in a bare LF')
  const line = REQUEST_LINE.exec(text.slice(at, eol - 1))
  if (line === null) return wrong('not a request line')
  const [, method, target, version] = line
  const minor = Number(version)
  const head = fieldsAt(text, eol + 1)
  if (head.end === undefined) return head
  const { fields } = head
  const hosts = all(fields, 'host')
  if (hosts.length > 1 || (hosts.length === 0 && minor === 1)) return wrong(`${hosts.length} hosts`)
  const framing = framingOf(fields, minor)
  if (framing.wrong !== undefined) return framing
  const request = { method, target, minor, fields, body: '', trailers: [] }
  const connection = all(fields, 'connection').join(',').toLowerCase().split(',').map((token) => token.trim())
  request.last = connection.includes('close') || (minor === 0 && !connection.includes('keep-alive'))
  request.upgrade = connection.includes('upgrade') && all(fields, 'upgrade').length > 0
  if (framing.kind === 'length') {
    if (text.length < head.end + framing.bytes) return { ...more, begun: request }
    return { ...request, body: text.slice(head.end, head.end + framing.bytes), end: head.end + framing.bytes }
  }
  if (framing.kind === 'none') return { ...request, end: head.end }
  const chunks = chunksAt(text, head.end)
  if (chunks.wrong !== undefined) return { ...chunks, begun: request }
  return chunks.end === undefined ? { ...more, begun: request } : { ...request, ...chunks }
}

/** All requests of a stream, up to its end or to where it stops making sense: `{ requests, wrong? }`. */
export function requestsIn(text) {
  const requests = []
  for (let at = 0; ; ) {
    const found = requestAt(text, at)
    if (found.end === undefined) return { requests, wrong: found.wrong, begun: found.begun }
    requests.push(found)
    if (found.last || found.upgrade || found.method === 'CONNECT') return { requests, rest: text.slice(found.end) }
    at = found.end
  }
}

/** The response that begins at `at`, to a request of `method`; `closed`: nothing more will come. */
export function responseAt(text, at, method, closed) {
  if (at >= text.length) return more
  const eol = text.indexOf('\n', at)
  if (eol < 0) return more
  if (text[eol - 1] !== '\r') return wrong('a status line that ends in a bare LF')
  const line = STATUS_LINE.exec(text.slice(at, eol - 1))
  if (line === null) return wrong(`not a status line: ${JSON.stringify(text.slice(at, at + 60))}`)
  const status = Number(line[2])
  const head = fieldsAt(text, eol + 1)
  if (head.end === undefined) return head
  const { fields } = head
  const response = { status, fields, body: '' }
  if (status < 200) return { ...response, interim: true, end: head.end }
  const framing = framingOf(fields, Number(line[1]))
  if (framing.wrong !== undefined) return framing
  if (method === 'HEAD' || status === 204 || status === 304) return { ...response, end: head.end }
  if (framing.kind === 'length') {
    if (text.length < head.end + framing.bytes) return more
    return { ...response, body: text.slice(head.end, head.end + framing.bytes), end: head.end + framing.bytes }
  }
  if (framing.kind === 'chunked') {
    const chunks = chunksAt(text, head.end)
    return chunks.end === undefined ? chunks : { ...response, ...chunks }
  }
  return closed ? { ...response, body: text.slice(head.end), end: text.length, byClose: true } : more
}

/** Two targets that mean the same, as one: origin-form, dots resolved, what needs no escape not escaped. */
export function canonical(target) {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '')
  const mark = rest.indexOf('?')
  const path = mark < 0 ? rest : rest.slice(0, mark)
  const plain = path.replace(/%([0-9a-f]{2})/gi, (whole, hex) => {
    const one = String.fromCharCode(Number.parseInt(hex, 16))
    return /[\w.~-]/.test(one) ? one : whole.toUpperCase()
  })
  const kept = []
  const segments = plain.split('/')
  segments.forEach((segment, i) => {
    const lastOne = i === segments.length - 1
    if (segment === '..') {
      if (kept.length > 1) kept.pop()
      if (lastOne) kept.push('')
    } else if (segment !== '.') kept.push(segment)
    else if (lastOne) kept.push('')
  })
  return (kept.join('/') || '/') + (mark < 0 ? '' : rest.slice(mark))
}
