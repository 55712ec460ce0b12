// One request and its reply: the handler that undici calls (its second interface), the entry in the list of deadlines, and
// the link between two connections that may each die at any moment. It answers exactly once.
import { requestHeaders, responseHeaders } from './headers.mjs'

const LATE = 'no answer in time'

// Before undici's own timers ours must have rung; connecting is the one wait that undici bounds itself.
const isLate = (error) => error?.message === LATE || /^UND_ERR_(CONNECT|HEADERS)_TIMEOUT$/.test(error?.code)

const hasBody = ({ headers }) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

export class Exchange {
  // The list of deadlines writes these.
  due = 0
  before = null
  after = null
  listed = false

  controller = null
  reason = null // why it ended before undici had a connection for it
  first = null // the first chunk of the body, while it may still be the only one
  streaming = false
  ended = false
  waiting = false

  constructor(request, response, deadlines) {
    this.request = request
    this.response = response
    this.deadlines = deadlines
    response.on('close', () => this.closed())
    deadlines.add(this)
  }

  /** What `dispatch` needs. The body is the request itself: undici reads it as fast as the upstream takes it. */
  options() {
    const { request } = this
    return {
      path: request.url,
      method: request.method,
      headers: requestHeaders(request),
      body: hasBody(request) ? request : null,
    }
  }

  onRequestStart(controller) {
    this.controller = controller
    if (this.reason !== null) controller.abort(this.reason)
  }

  onResponseStart(controller, status) {
    if (status < 200) return // an informational head; the real one follows
    this.deadlines.remove(this)
    this.response.writeHead(status, responseHeaders(controller.rawHeaders))
    // A small reply arrives whole in this very turn and then leaves in one write. If it does not, what is here must not
    // wait for the rest: it may be an event stream.
    process.nextTick(flush, this)
  }

  onResponseData(_controller, chunk) {
    if (this.streaming) this.push(chunk)
    else if (this.first === null) this.first = chunk
    else {
      this.flush()
      this.push(chunk)
    }
  }

  onResponseEnd() {
    this.ended = true
    if (this.first === null) this.response.end()
    else this.response.end(this.first)
  }

  onResponseError(_controller, error) {
    this.fail(isLate(error) ? 504 : 502)
  }

  /** Called by the list of deadlines. */
  expire() {
    this.fail(504)
    this.abort(new Error(LATE))
  }

  flush() {
    if (this.streaming || this.ended) return
    this.streaming = true
    const { first } = this
    this.first = null
    if (first === null) this.response.flushHeaders()
    else this.push(first)
  }

  push(chunk) {
    if (this.response.write(chunk)) return
    this.controller.pause()
    if (this.waiting) return
    this.waiting = true
    this.response.once('drain', () => {
      this.waiting = false
      this.controller.resume()
    })
  }

  fail(status) {
    if (this.ended) return
    this.ended = true
    this.deadlines.remove(this)
    const { response } = this
    // Half a reply cannot be taken back; a cut connection is the one way to say so.
    if (response.headersSent) return response.destroy()
    response.writeHead(status, ['content-length', '0'])
    response.end()
  }

  /** The reply is out, or the client has left. */
  closed() {
    if (this.response.writableFinished) return
    this.ended = true
    this.deadlines.remove(this)
    this.abort(new Error('the client left'))
  }

  abort(reason) {
    this.reason = reason
    this.controller?.abort(reason)
  }
}

function flush(exchange) {
  exchange.flush()
}
