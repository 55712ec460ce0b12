// A server of so many calls a second behind a real port: the same workers and the same queue as under virtual
// time. Down means that nobody listens, so connections are refused by the system itself.
import { createServer } from 'node:http'
import { ANSWERED, TIMED_OUT } from '../fate.mjs'
import { Server } from '../server.mjs'

/** What Server asks of a world. */
const reality = {
  after(ms, fn) {
    setTimeout(() => fn(), ms)
  },
}

export class Host {
  port = 0
  #model
  #http

  constructor(perSecond) {
    this.#model = new Server(reality, Math.random, perSecond)
  }

  async rise() {
    this.#model.rise()
    this.#http = createServer((_request, response) => {
      this.#model.begin((fate) => {
        // The client has hung up by then.
        if (fate === TIMED_OUT) return
        response.writeHead(fate === ANSWERED ? 200 : 500).end()
      })
    })
    this.#http.listen(this.port, '127.0.0.1')
    await new Promise((resolve, reject) => this.#http.once('listening', resolve).once('error', reject))
    this.port = this.#http.address().port
  }

  crash() {
    this.#model.crash()
    this.#http.close()
    this.#http.closeAllConnections()
  }
}
