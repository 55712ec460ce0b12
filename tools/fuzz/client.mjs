// One connection of a hostile client: sends the bytes of a case in its pieces, and listens until nothing more comes.
import { connect } from 'node:net'
import { responseAt } from './strict.mjs'

/** Of a case whose answers need not come, or are all there: nothing more came for so long. */
const PATIENCE_MS = { changed: 40, answered: 3 }

/**
 * @typedef {object} Heard
 * @property {string} text everything that came, as latin1 text
 * @property {boolean} closed the other side has ended it
 * @property {boolean} reset ... by a reset
 */

/**
 * @param {number} port
 * @param {import('./cases.mjs').Case} one
 * @param {readonly import('./strict.mjs').Request[]} expected the requests that are due an answer
 * @param {number} patienceMs of a proper case
 * @returns {Promise<Heard>}
 */
export function play(port, one, expected, patienceMs) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    let text = ''
    let at = 0
    let answers = 0
    let sent = false
    let reset = false
    let over = false
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    /** @param {boolean} closed */
    const finish = (closed) => {
      if (over) return
      over = true
      clearTimeout(timer)
      // Between a FIN and its being on its way libuv refuses a reset, and Node would keep the descriptor for ever.
      if (one.resets && socket.writableEnded === socket.writableFinished) socket.resetAndDestroy()
      else socket.destroy()
      resolve({ text, closed, reset })
    }
    const wait = () => {
      clearTimeout(timer)
      if (!sent) return
      const complete = answers >= expected.length && expected.length > 0
      const patience = complete ? PATIENCE_MS.answered : one.clean ? patienceMs : PATIENCE_MS.changed
      timer = setTimeout(() => finish(false), patience)
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
      text += chunk.toString('latin1')
      count()
      wait()
    })
    socket.on('connect', () => {
      const cuts = [...one.cuts, one.text.length]
      let from = 0
      const next = () => {
        if (over || socket.destroyed) return
        const to = cuts.shift()
        if (to === undefined) {
          sent = true
          if (one.halfClose) socket.end()
          return wait()
        }
        socket.write(Buffer.from(one.text.slice(from, to), 'latin1'))
        if (one.leavesAt >= 0 && to >= one.leavesAt) return finish(false)
        from = to
        if (one.pauseMs > 0) setTimeout(next, one.pauseMs)
        else setImmediate(next)
      }
      next()
    })
  })
}
