// A client's side of one endpoint: real HTTP on kept connections, and the patience of all studies.
import { Agent, request } from 'node:http'
import { ANSWERED, FAILED, TIMED_OUT, TIMEOUT_MS, UNREACHABLE } from '../fate.mjs'

export class Remote {
  #agent = new Agent({ keepAlive: true })
  #port

  constructor(port) {
    this.#port = port
  }

  begin(answer) {
    let waits = true
    const once = (fate) => {
      if (!waits) return
      waits = false
      clearTimeout(patience)
      answer(fate)
    }
    const sent = request({ port: this.#port, host: '127.0.0.1', agent: this.#agent }, (response) => {
      response.resume()
      once(response.statusCode === 200 ? ANSWERED : FAILED)
    })
    const patience = setTimeout(() => {
      once(TIMED_OUT)
      sent.destroy()
    }, TIMEOUT_MS)
    sent.on('error', (error) => once(/** @type {any} */ (error).code === 'ECONNREFUSED' ? UNREACHABLE : FAILED))
    sent.end()
  }

  close() {
    this.#agent.destroy()
  }
}
