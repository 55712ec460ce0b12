// The same layers without a promise: work and answer are callbacks. For protocols that call back anyway, and for simulations.
import { answered, breaker, bulkhead, failed, pipeline, retry, timeout } from 'floodwall'

const socket = pipeline('socket', [
  retry({ attempts: 3, backoff: { first: '5ms' } }),
  breaker({ atLeast: 50 }),
  bulkhead({ slots: 100 }),
  timeout({ after: '200ms' }),
])

// A protocol that calls back; every third request breaks.
let sent = 0
function send(text, callback) {
  const breaks = ++sent % 3 === 0
  setTimeout(() => (breaks ? callback(new Error('reset'), undefined) : callback(null, text.toUpperCase())), 5)
}

let open = 12
const words = { first: 0, again: 0, failed: 0 }

for (let i = 0; i < 12; i++) {
  let attempts = 0
  socket.start(
    (call, done) => {
      attempts = call.attempt + 1
      // `done` exactly once, now or later; a second time changes nothing.
      send(`hello ${i}`, (error, answer) => done(error === null ? answered(answer) : failed(error)))
    },
    (outcome) => {
      if (!outcome.ok) words.failed++
      else if (attempts > 1) words.again++
      else words.first++
      if (--open === 0) finish()
    },
    { idempotent: true },
  )
}

function finish() {
  console.log(`${words.first} at the first try, ${words.again} at a later one, ${words.failed} failed`)
  console.log(socket.inspect().calls)
}
