// Which header lines pass. Names and values stay in flat arrays, as they came: building header objects and taking them
// apart again costs more than the whole rest of a proxy.

// They speak about one connection, not about the message (RFC 9110, 7.6.1), or were never more than that in practice.
const HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]

// `expect` was answered by the server already; the forwarding lines are ours to write: a caller may claim anything.
const OURS = ['host', 'expect', 'forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']

const notInResponse = new Set(HOP)
const notInRequest = new Set([...HOP, ...OURS])

// Header names repeat: lower-casing each of them once is enough. Bounded, because callers choose them.
const known = new Map()

function lower(name) {
  let low = known.get(name)
  if (low === undefined) {
    low = name.toLowerCase()
    if (known.size < 512) known.set(name, low)
  }
  return low
}

/** Header names that `Connection` declares to be about this connection; null in the common case. */
function named(raw) {
  let names = null
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i].length !== 10 || lower(raw[i]) !== 'connection') continue
    const value = raw[i + 1]
    if (value === 'keep-alive' || value === 'close') continue
    names ??= new Set()
    for (const token of value.split(',')) names.add(token.trim().toLowerCase())
  }
  return names
}

function passing(raw, stopped) {
  const names = named(raw)
  const out = []
  for (let i = 0; i < raw.length; i += 2) {
    const low = lower(raw[i])
    if (stopped.has(low) || (names !== null && names.has(low))) continue
    out.push(raw[i], raw[i + 1])
  }
  return out
}

export function requestHeaders(request) {
  const out = passing(request.rawHeaders, notInRequest)
  out.push('x-forwarded-for', request.socket.remoteAddress ?? 'unknown', 'x-forwarded-proto', 'http')
  const { host } = request.headers
  if (host !== undefined) out.push('x-forwarded-host', host)
  return out
}

/** `raw` is undici's: buffers. Latin-1 is what both sides mean by a byte of a header. */
export function responseHeaders(raw) {
  const text = raw.map((bytes) => bytes.latin1Slice())
  return passing(text, notInResponse)
}
