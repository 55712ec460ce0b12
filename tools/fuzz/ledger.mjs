// Who believes what. The client's bytes, read by the letter, say which requests there may be; the upstream says which there were. What the
// upstream has seen and the client has not sent is smuggled; what a client takes for an answer to another request is a mix-up.
import { answerTo, escaped } from './answers.mjs'
import { connectionOf, requestsIn, responseAt } from './strict.mjs'
import { canonical, caseIn } from './targets.mjs'

/** @typedef {import('./strict.mjs').Request} Request */
/** @typedef {import('./strict.mjs').Response} Response */
/** @typedef {import('./cases.mjs').Case} Case */

/**
 * @typedef {object} Finding
 * @property {string} kind
 * @property {string} text
 * @property {number | undefined} case where it is known
 */

/** Requests that are remembered. One that is seen after so many others would be a finding of its own. */
const REMEMBERED = 20_000
const MOST_FINDINGS = 100
const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
const HOP_BY_HOP = /^(?:proxy-.*|keep-alive|trailer)$/

export class Ledger {
  /** @type {Finding[]} */ findings = []
  cases = 0
  requests = 0
  answers = 0
  /** @readonly */ #seed
  /**
   * Requests that may be seen, by key, the latest last.
   *
   * @type {Map<string, { left: number, seen: number, upgrade: boolean }>}
   */
  #allowed = new Map()

  /** @param {number} seed of the cases */
  constructor(seed) {
    this.#seed = seed
  }

  /**
   * A case that is about to be sent.
   *
   * @param {Case} one
   * @returns {readonly Request[]} the requests that it is, by the letter
   */
  open(one) {
    const { requests } = requestsIn(one.text)
    this.cases++
    for (const request of requests) {
      const key = keyOf(request)
      const known = this.#allowed.get(key) ?? { left: 0, seen: 0, upgrade: false }
      known.left++
      known.upgrade ||= request.upgrade
      this.#allowed.delete(key)
      this.#allowed.set(key, known)
    }
    for (const key of this.#allowed.keys()) {
      if (this.#allowed.size <= REMEMBERED) break
      this.#allowed.delete(key)
    }
    return requests
  }

  /**
   * The upstream has been sent this.
   *
   * @param {Request} request
   */
  seen(request) {
    this.requests++
    /**
     * @param {string} kind
     * @param {string} text
     */
    const found = (kind, text) => this.found(kind, `${text}: ${show(request)}`, this.#caseOf(request))
    const known = this.#allowed.get(keyOf(request))
    if (known === undefined) return found('smuggled', 'the upstream was sent what no client did')
    known.seen++
    if (!IDEMPOTENT.has(request.method) && known.seen > known.left) found('twice', `sent ${known.seen} times`)
    for (const [name] of request.fields) {
      if (HOP_BY_HOP.test(name) || (name === 'upgrade' && !known.upgrade)) found('hop-by-hop', `${name} was passed on`)
    }
  }

  /**
   * The upstream got what is not HTTP by the letter.
   *
   * @param {string} reason
   * @param {string} text
   */
  wrong(reason, text) {
    this.found('malformed', `${reason}: ${JSON.stringify(text.slice(0, 300))}`, caseIn(this.#seed, text))
  }

  /**
   * What the client of a case got until the connection closed, or nothing more came.
   *
   * @param {Case} one
   * @param {readonly Request[]} expected what `open` said
   * @param {import('./client.mjs').Heard} heard
   */
  heard(one, expected, { text, closed, reset }) {
    /**
     * @param {string} kind
     * @param {string} what
     */
    const found = (kind, what) => this.found(kind, what, one.number)
    let at = 0
    let count = 0
    let last = false
    while (at < text.length) {
      if (last) return found('answers', 'bytes behind an answer that was said to be the last')
      const request = expected[count]
      const answer = responseAt(text, at, request?.method ?? 'GET', closed && !reset)
      if (answer.wrong !== undefined) return found('answer', answer.wrong)
      if (answer.end === undefined) break
      at = answer.end
      // From here on it is no HTTP: what the client sends is no request, and what it hears no answer.
      if (answer.status === 101) return this.#tunnelled(one.number, request, answer, text.slice(at))
      const fault = faultOf(request, answer)
      if (fault !== undefined) found('answer', fault)
      if (answer.interim) continue
      this.answers++
      count++
      last = connectionOf(answer.fields).includes('close')
      if (!isOwn(answer)) this.#matches(one.number, request, answer)
      // To what makes no sense it answers by closing, and does not know whether HEAD was meant.
      else if (last) break
    }
    const counts = `${count} answers to ${expected.length} requests`
    if (count > expected.length + 1) found('answers', counts)
    if (!one.clean || one.leavesAt >= 0 || count >= expected.length) return
    if (!closed) return found('silence', counts)
    if (!last && !mayBeDropped(one, expected)) found('dropped', counts)
  }

  /**
   * @param {number} number
   * @param {Request | undefined} request
   * @param {Response} answer
   * @param {string} text what came behind it
   */
  #tunnelled(number, request, answer, text) {
    this.answers++
    const target = request?.target ?? ''
    const sent = request === undefined ? undefined : answerTo({ ...request, target, upgrade: request.upgrade })
    const echo = answer.fields.find(([name]) => name === 'x-echo')?.[1]
    if (sent?.status !== 101) return this.found('answer', '101 for who was told no', number)
    const asked = Buffer.from(echo ?? '', 'base64').toString('latin1')
    if (canonical(asked) !== canonical(target))
      return this.found('mixed up', `${target} got the tunnel of ${asked}`, number)
    const { content } = answerTo({ method: 'GET', body: '', upgrade: true, target: asked })
    // Not all of it: who leaves loses what is on its way.
    if (!content.startsWith(text)) this.found('changed', `a tunnel said ${JSON.stringify(text.slice(0, 100))}`, number)
  }

  /**
   * @param {number} number
   * @param {Request | undefined} request
   * @param {Response} answer the upstream's
   */
  #matches(number, request, answer) {
    /**
     * @param {string} kind
     * @param {string} text
     */
    const found = (kind, text) => this.found(kind, text, number)
    if (request === undefined) return found('answers', 'an answer to no request')
    const echo = answer.fields.find(([name]) => name === 'x-echo')?.[1]
    if (echo === undefined) return found('answer', `${answer.status} is neither the gateway's nor the upstream's`)
    const target = Buffer.from(echo, 'base64').toString('latin1')
    if (escaped(target) !== echo || canonical(target) !== canonical(request.target))
      return found('mixed up', `${request.target} got the answer to ${target}`)
    // An answer that ends with its connection is left out: a reset that comes with the last data looks like an end from here.
    if (answer.byClose) return
    const sent = answerTo({ ...request, target, upgrade: answer.fields.some(([name]) => name === 'x-offered') })
    const what = `${request.method} ${request.target}`
    if (!sent.whole) return found('half', `half an answer was taken for a whole one (${what})`)
    const bare = request.method === 'HEAD' || answer.status === 204 || answer.status === 304
    if (answer.status !== sent.status) found('changed', `${sent.status} became ${answer.status} (${what})`)
    else if (!bare && answer.body !== sent.content)
      found('changed', `a body of ${sent.content.length} bytes became another one of ${answer.body.length} (${what})`)
  }

  /** @param {Request} request */
  #caseOf({ target, fields, body }) {
    const name = fields.find(([name]) => name === 'x-fuzz')?.[1] ?? ''
    for (const text of [target, `x-fuzz:${name}`, body]) {
      const number = caseIn(this.#seed, text)
      if (number !== undefined) return number
    }
    return undefined
  }

  /**
   * @param {string} kind
   * @param {string} text
   * @param {number} [number] of the case
   */
  found(kind, text, number) {
    // For each kind: a thousand of one must not hide the first of another.
    const alike = this.findings.filter((finding) => finding.kind === kind).length
    if (alike < MOST_FINDINGS) this.findings.push({ kind, text, case: number })
  }
}

/**
 * What is wrong with an answer, whoever it is from.
 *
 * @param {Request | undefined} request
 * @param {Response} answer
 */
function faultOf(request, { status, fields }) {
  if (request?.minor !== 0) return undefined
  // RFC 9110, 15.2, and RFC 9112, 6.1: it would not know what they are.
  if (status < 200) return `${status} for an HTTP/1.0 client`
  return fields.some(([name]) => name === 'transfer-encoding') ? 'a transfer coding for an HTTP/1.0 client' : undefined
}

/**
 * Whether a connection may well end before its requests are answered.
 *
 * @param {Case} one
 * @param {readonly Request[]} expected
 */
function mayBeDropped({ halfClose }, expected) {
  // Who closes his side may be taken for gone. An answer that breaks off takes the connection with it.
  return halfClose || expected.some((request) => !answerTo(request).whole)
}

/**
 * Whether it is the gateway's own.
 *
 * @param {Response} answer
 */
function isOwn({ fields }) {
  return fields.some(([name, value]) => name === 'content-type' && value === 'application/problem+json')
}

/** @param {Request} request */
function keyOf({ method, target, body }) {
  return `${method} ${canonical(target)} ${body}`
}

/** @param {Request} request */
function show({ method, target, body }) {
  return JSON.stringify(`${method} ${target} ${body}`.slice(0, 300))
}
