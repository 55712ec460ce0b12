// The server behind what is fuzzed: it takes nothing that is not HTTP/1.1 by the letter, and remembers every request that it was sent.
import { createServer } from 'node:net'
import { answerTo } from './answers.mjs'
import { requestAt } from './strict.mjs'

/** `onRequest(request)` and `onWrong(reason, text)` hear of what came. */
export async function startUpstream({ onRequest, onWrong, answer = answerTo }) {
  const sockets = new Set()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.latin1Slice()
      while (text !== '') {
        const found = requestAt(text, 0)
        if (found.wrong !== undefined) {
          onWrong(found.wrong, text)
          return socket.destroy()
        }
        if (found.end === undefined) return
        text = text.slice(found.end)
        onRequest(found)
        const { bytes, close } = answer(found)
        if (close) return socket.end(Buffer.from(bytes, 'latin1'))
        socket.write(Buffer.from(bytes, 'latin1'))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: server.address().port,
    get open() {
      return sockets.size
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
