// One kept connection over a bare socket: asks, and hears the status when the answer is whole. An HTTP client would need more CPU than the
// servers that are measured. No pipelining: one request at a time.
import { connect } from 'node:net'

const HEAD_END = '\r\n\r\n'

export class Connection {
  /** What it waits for; null: nothing. */
  asked = null
  alive = true
  #socket
  #text = ''
  /** Length of the whole answer, -1: not known yet, -2: it is chunked. */
  #whole = -1
  #heard
  #lost

  /** `heard(asked, status, connection)`: an answer is whole; `lost(asked, connection)`: the connection is gone. */
  constructor(port, heard, lost) {
    this.#heard = heard
    this.#lost = lost
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.#close())
  }

  /** Before it is connected the bytes wait in the socket. */
  ask(bytes, asked) {
    this.asked = asked
    this.#socket.write(bytes)
  }

  destroy() {
    this.#socket.destroy()
  }

  #read(chunk) {
    this.#text += chunk.latin1Slice(0, chunk.length)
    if (this.#whole === -1) this.#measure()
    const ended = this.#whole === -2 ? this.#text.endsWith(`0${HEAD_END}`) : this.#text.length >= this.#whole
    if (this.#whole === -1 || !ended) return
    const status = Number(this.#text.slice(9, 12))
    const { asked } = this
    this.asked = null
    this.#text = ''
    this.#whole = -1
    if (asked !== null) this.#heard(asked, status, this)
  }

  #measure() {
    const end = this.#text.indexOf(HEAD_END)
    if (end < 0) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#text)
    if (length !== null) this.#whole = end + 4 + Number(length[1])
    else this.#whole = /\r\ntransfer-encoding: *chunked/i.test(this.#text.slice(0, end + 2)) ? -2 : end + 4
  }

  #close() {
    this.alive = false
    const { asked } = this
    this.asked = null
    this.#lost(asked, this)
  }
}
