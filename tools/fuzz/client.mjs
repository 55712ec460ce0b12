// One connection of a hostile client: sends the bytes of a case in its pieces, and listens until nothing more comes.
import { connect } from 'node:net'
import { responseAt } from './strict.mjs'

/** Nothing more came for so long: of a proper case, of any other, and when every answer is there. */
const PATIENCE_MS = { clean: 5000, other: 40, answered: 3 }

/** Resolves to what was heard: `{ text, closed, reset }`. */
export function play(port, one, expected) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    let text = ''
    let at = 0
    let answers = 0
    let reset = false
    let timer
    let over = false
    const finish = (closed) => {
      if (over) return
      over = true
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, closed, reset })
    }
    const wait = () => {
      clearTimeout(timer)
      const complete = answers >= expected.length && expected.length > 0
      timer = setTimeout(() => finish(false), complete ? PATIENCE_MS.answered : one.clean ? PATIENCE_MS.clean : PATIENCE_MS.other)
    }
    const count = () => {
      while (at < text.length) {
        const found = responseAt(text, at, expected[answers]?.method ?? 'GET', false)
        if (found.end === undefined) return
        at = found.end
        if (!found.interim) answers++
      }
    }
    socket.on('error', () => {
      reset = true
    })
    socket.on('close', () => finish(true))
    socket.on('end', () => finish(true))
    socket.on('data', (chunk) => {
      text += chunk.latin1Slice()
      count()
      wait()
    })
    socket.on('connect', () => {
      const cuts = [...one.cuts, one.text.length]
      let from = 0
      const next = () => {
        if (over || socket.destroyed) return
        if (cuts.length === 0) {
          if (one.halfClose) socket.end()
          return wait()
        }
        const to = cuts.shift()
        socket.write(Buffer.from(one.text.slice(from, to), 'latin1'))
        if (one.leavesAt >= 0 && to >= one.leavesAt) return finish(false)
        from = to
        setImmediate(next)
      }
      next()
      wait()
    })
  })
}
