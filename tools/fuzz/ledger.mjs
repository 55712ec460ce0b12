// Who believes what. The client's bytes, read by the letter, say which requests there may be; the upstream says which there were. What the
// upstream has seen and the client has not sent is smuggled; what a client takes for an answer to another request is a mix-up.
import { answerTo, escaped } from './answers.mjs'
import { canonical, requestsIn, responseAt } from './strict.mjs'

/** Old cases are forgotten: attempts that come later than this many cases would be a finding of their own. */
const REMEMBERED = 5000
const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])

export class Ledger {
  findings = []
  cases = 0
  requests = 0
  answers = 0
  /** Requests that may be seen, by key; how often. */
  #allowed = new Map()
  #keys = []

  /** A case that is about to be sent. */
  open(one) {
    const { requests } = requestsIn(one.text)
    this.cases++
    for (const request of requests) {
      const key = keyOf(request)
      const known = this.#allowed.get(key)
      if (known === undefined) {
        this.#allowed.set(key, { left: 1, seen: 0 })
        this.#keys.push(key)
      } else known.left++
    }
    while (this.#keys.length > REMEMBERED) this.#allowed.delete(this.#keys.shift())
    return requests
  }

  /** The upstream has been sent this. */
  seen(request) {
    this.requests++
    const known = this.#allowed.get(keyOf(request))
    if (known === undefined) return this.found('smuggled', `the upstream was sent what no client did: ${show(request)}`)
    known.seen++
    if (!IDEMPOTENT.has(request.method) && known.seen > known.left) {
      this.found('twice', `sent ${known.seen} times: ${show(request)}`)
    }
    const strange = request.fields.find(([name]) => /^(?:proxy-.*|keep-alive|upgrade|trailer)$/.test(name))
    if (strange !== undefined) this.found('hop-by-hop', `${strange[0]} was passed on: ${show(request)}`)
  }

  /** The upstream got what is not HTTP by the letter. */
  wrong(reason, text) {
    this.found('malformed', `${reason}: ${JSON.stringify(text.slice(0, 300))}`)
  }

  /** What the client of a case got until the connection closed, or nothing more came. `expected`: what `open` said. */
  heard(one, expected, text, { closed, reset }) {
    let at = 0
    let count = 0
    while (at < text.length) {
      const request = expected[count]
      const found = responseAt(text, at, request?.method ?? 'GET', closed && !reset)
      if (found.wrong !== undefined) return this.found('answer', `case ${one.number}: ${found.wrong}`)
      if (found.end === undefined) return this.#incomplete(one, count)
      at = found.end
      if (found.interim) continue
      this.answers++
      const own = found.fields.some(([name, value]) => name === 'content-type' && value === 'application/problem+json')
      if (!own) this.#matches(one, request, found)
      count++
      if (own && found.status === 400) break
    }
    if (count > expected.length + 1) this.found('answers', `case ${one.number}: ${count} answers to ${expected.length} requests`)
    if (one.clean && one.leavesAt < 0 && count < expected.length && !closed) this.found('silence', `case ${one.number}: ${count} answers to ${expected.length} requests`)
    return count
  }

  #incomplete() {}

  #matches(one, request, answer) {
    if (request === undefined) return this.found('answers', `case ${one.number}: an answer to no request`)
    const echo = answer.fields.find(([name]) => name === 'x-echo')?.[1]
    if (echo === undefined) return this.found('answer', `case ${one.number}: ${answer.status} is neither the gateway's nor the upstream's`)
    const target = Buffer.from(echo, 'base64').toString('latin1')
    if (canonical(target) !== canonical(request.target)) {
      return this.found('mixed up', `case ${one.number}: ${request.target} got the answer to ${target}`)
    }
    const sent = answerTo({ ...request, target })
    if (!sent.whole && answer.status === 200) {
      this.found('half', `case ${one.number}: half an answer was taken for a whole one (${request.method} ${request.target})`)
    }
  }

  found(kind, text) {
    if (this.findings.length < 100) this.findings.push({ kind, text })
  }
}

function keyOf({ method, target, body }) {
  return `${method} ${canonical(target)} ${body}`
}

function show({ method, target, body }) {
  return JSON.stringify(`${method} ${target} ${body}`.slice(0, 300))
}
