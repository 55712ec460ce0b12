// The server behind what is fuzzed: it takes nothing that is not HTTP/1.1 by the letter, and remembers every request that it was sent.
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { answerTo } from './answers.mjs'
import { requestAt } from './strict.mjs'

/** Between the pieces of an answer: long enough that they are read one by one. */
const PAUSE_MS = 2

/**
 * @typedef {object} Listener
 * @property {(request: import('./strict.mjs').Request) => void} onRequest
 * @property {(reason: string, text: string) => void} onWrong what came is not HTTP/1.1
 */

/** @param {Listener} listener */
export async function startUpstream({ onRequest, onWrong }) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const hangUp = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let text = ''
    // Also when nothing is taken any more.
    let busy = false
    // One after the other, in order, as pipelined requests are to be answered.
    const serve = async () => {
      busy = true
      while (!socket.destroyed) {
        const found = requestAt(text, 0)
        if (found.wrong !== undefined) {
          onWrong(found.wrong, text)
          socket.destroy()
          return
        }
        if (found.end === undefined) break
        text = text.slice(found.end)
        onRequest(found)
        const answer = answerTo(found)
        const bytes = Buffer.from(answer.bytes, 'latin1')
        const size = Math.ceil(bytes.length / answer.pieces)
        for (let at = 0; at < bytes.length; at += size) {
          if (at > 0) await pause(PAUSE_MS)
          socket.write(bytes.subarray(at, at + size))
        }
        if (answer.close || found.last) {
          socket.end()
          return
        }
      }
      busy = false
    }
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!busy) void serve()
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    port,
    /** Ends every connection. */
    hangUp,
    async close() {
      hangUp()
      await new Promise((resolve) => server.close(() => resolve(undefined)))
    },
  }
}
