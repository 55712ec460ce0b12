// What a hostile client sends: proper requests, several on a connection, and then bytes of them changed where it hurts.
import { randomOf, seedOf } from './random.mjs'

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']
const POISON = (id) => `GET /poison/${id} HTTP/1.1\r\nHost: evil\r\nX-Poison: 1\r\n\r\n`

/** Lines and pieces that parsers read in different ways, or did once. */
const DICTIONARY = [
  '\r\n', '\n', '\r', '\r\r\n', '\n\n', ' ', '\t', '\0', '\x0b', '\x7f', '\xff', ':', ' :', ';', ',', '"', '%00', '%2e%2e/', '//', '\\',
  'Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'Content-Length: +5\r\n', 'Content-Length: 5, 5\r\n', 'Content-Length: 0x5\r\n',
  'Content-Length : 5\r\n', 'Content-Length: -1\r\n', 'Content-Length: 99999999999999999999\r\n', 'Content_Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: Chunked\r\n', 'Transfer-Encoding: xchunked\r\n', 'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding: chunked, gzip\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding:\x0bchunked\r\n', 'Transfer-Encoding: chunked,\r\n', 'Transfer-Encoding:\r\n chunked\r\n', 'X: y\r\n folded\r\n',
  'Host: second\r\n', 'Host:\r\n', 'Connection: close\r\n', 'Connection: Content-Length\r\n', 'Connection: Host, X-Fuzz\r\n',
  'Expect: 100-continue\r\n', 'Upgrade: h2c\r\nConnection: Upgrade\r\n', 'TE: trailers\r\n', 'Trailer: X-Fuzz\r\n',
  'HTTP/1.0', 'HTTP/1.1', 'HTTP/2.0', 'HTTP/0.9', 'GET http://evil.test/x HTTP/1.1\r\n', 'CONNECT evil.test:443 HTTP/1.1\r\n',
  '0\r\n\r\n', '5\r\nabcde\r\n', 'FFFFFFFFFFFFFFFF\r\n', '5;a=b\r\n', '5;a\nb\r\n', '00000000000000005\r\n', '-5\r\n', '5 \r\n', 'g\r\n',
] // biome-ignore format: a list to look at

/** The case of a number: always the same. */
export function caseOf(seed, number) {
  const random = randomOf(seedOf(seed, number))
  const requests = Array.from({ length: 1 + random.below(4) }, (_, i) => request(`${seed}-${number}-${i}`, random))
  const clean = random.chance(0.2)
  let text = requests.join('')
  const changes = clean ? 0 : 1 + random.below(3)
  for (let i = 0; i < changes; i++) text = changed(text, random)
  return {
    number,
    clean,
    text,
    // How it is cut into packets, and whether the client stays to hear the answers.
    cuts: random.chance(0.5) ? [] : Array.from({ length: random.below(6) }, () => random.below(text.length + 1)).sort((a, b) => a - b),
    leavesAt: random.chance(0.1) ? random.below(text.length + 1) : -1,
    halfClose: random.chance(0.2),
  }
}

function request(id, random) {
  const method = random.one(METHODS)
  const minor = random.chance(0.08) ? 0 : 1
  const target = `/f/${id}${random.one(['', '', '?q=1', '?a=//b&c=%zz', '/%41', '/a//b', '/./x', '/x/../y'])}`
  const lines = ['Host: fuzz.test', `X-Fuzz: ${id}`]
  if (random.chance(0.3)) lines.push('Connection: keep-alive')
  if (random.chance(0.05)) lines.push('Connection: close')
  if (random.chance(0.3)) lines.push(`X-Pad: ${'p'.repeat(random.below(200))}`)
  let body = ''
  const has = method === 'POST' || method === 'PUT' || method === 'PATCH' || random.chance(0.05)
  if (has) {
    const content = bodyOf(id, random)
    if (minor === 1 && random.chance(0.5)) {
      lines.push('Transfer-Encoding: chunked')
      body = chunked(content, random)
    } else {
      lines.push(`Content-Length: ${content.length}`)
      body = content
    }
  }
  for (let i = lines.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[lines[i], lines[j]] = [lines[j], lines[i]]
  }
  return `${method} ${target} HTTP/1.${minor}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Bodies are what could be taken for a request, or for an end. */
function bodyOf(id, random) {
  switch (random.below(5)) {
    case 0:
      return POISON(id)
    case 1:
      return `0\r\n\r\n${POISON(id)}`
    case 2:
      return random.bytes(random.below(300)).toString('latin1')
    case 3:
      return `${id}${'b'.repeat(random.below(3000))}`
    default:
      return ''
  }
}

function chunked(content, random) {
  let text = ''
  for (let at = 0; at < content.length; ) {
    const size = 1 + random.below(Math.min(700, content.length - at))
    const length = random.chance(0.5) ? size.toString(16) : size.toString(16).toUpperCase()
    text += `${length}${random.chance(0.1) ? ';ext=1' : ''}\r\n${content.slice(at, at + size)}\r\n`
    at += size
  }
  return `${text}0\r\n${random.chance(0.2) ? 'X-Trailer: t\r\n' : ''}\r\n`
}

function changed(text, random) {
  const at = random.below(text.length + 1)
  switch (random.below(8)) {
    case 0: // a byte becomes another one
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1)
    case 1: // a piece of the dictionary anywhere
      return text.slice(0, at) + random.one(DICTIONARY) + text.slice(at)
    case 2:
    case 3: { // ... and where lines begin
      const line = text.indexOf('\r\n', at)
      const begin = line < 0 ? 0 : line + 2
      return text.slice(0, begin) + random.one(DICTIONARY) + text.slice(begin)
    }
    case 4: // something is missing
      return text.slice(0, at) + text.slice(at + 1 + random.below(20))
    case 5: { // something is there twice
      const end = Math.min(text.length, at + 1 + random.below(120))
      return text.slice(0, end) + text.slice(at)
    }
    case 6: // another length
      return text.replace(/Content-Length: (\d+)/, (_, n) => `Content-Length: ${Math.max(0, Number(n) + random.below(9) - 4)}`)
    default: // a line end of another kind
      return replaceNth(text, '\r\n', random.below(12), random.one(['\n', '\r', '\r\r\n', '\n\r', '\r\n ', ' \r\n']))
  }
}

function replaceNth(text, what, n, by) {
  let at = -1
  for (let i = 0; i <= n; i++) {
    at = text.indexOf(what, at + 1)
    if (at < 0) return text
  }
  return text.slice(0, at) + by + text.slice(at + what.length)
}
