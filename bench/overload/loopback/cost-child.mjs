// node cost-child.mjs '{"row": "decision" | "stack", "rounds": N, "floodwall": FILE}': with and without, in one fresh process.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { floodwall } from '../../hot/floodwall.mjs'
import { lastSeen, shapes } from '../../method/loops.mjs'
import { compare } from '../../method/rounds.mjs'

const order = JSON.parse(process.argv[2])
const library = await floodwall(order.floodwall)
let answers = 0
let refused = 0

/** A call through a pipeline, which does nothing: with the policy and without. */
function decision() {
  const through = (layers) => {
    const pipeline = library.pipeline('api', layers)
    return () => pipeline.outcome(() => 1)
  }
  return { bare: through([]), guarded: through([library.overload()]) }
}

/**
 * A request and its answer as Node makes them, without a wire. Both sides make them and end them, so that what is between them is what is added.
 */
async function stack() {
  const { floodwall: path } = order
  const { protect } = await import(
    path === undefined ? 'floodwall/http' : new URL('adapters/http/index.js', pathToFileURL(path)).href
  )
  const listener = (_request, response) => void response.end('ok')
  const guard = protect(library.pipeline('api', [library.overload()]), listener)
  // What is written is gone at once, as with a kernel that has room.
  const wire = () => new Duplex({ read() {}, write: (_chunk, _encoding, written) => written() })
  const sockets = Array.from({ length: 16 }, wire)
  let next = 0
  const through = (answer) => () => {
    const socket = /** @type {any} */ (sockets[next++ & 15])
    const request = new IncomingMessage(socket)
    request.method = 'GET'
    request.url = '/'
    request.httpVersionMajor = 1
    request.httpVersionMinor = 1
    request.headers = { host: 'a', accept: '*/*' }
    const response = new ServerResponse(request)
    response.assignSocket(socket)
    answer(request, response)
    response.detachSocket(socket)
    response.emit('close')
    answers++
    if (response.statusCode !== 200) refused++
    return response
  }
  return { bare: through(listener), guarded: through(guard) }
}

const { bare, guarded } = await (order.row === 'decision' ? decision() : stack())
const { loop } = shapes.value
const found = await compare(loop(bare), loop(guarded), order.rounds)
// On a machine that makes a process stand still, requests wait, and some are refused: those cost something else.
process.stdout.write(JSON.stringify({ ...found, refused: answers === 0 ? 0 : refused / answers }))
process.exit(lastSeen() === order ? 1 : 0)
