import { keyedRateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom } from '../traffic.mjs'

const SECONDS = 30
const USERS = 100
const WHOLE = 1200
/** What the bot sends, in calls per second: as a user, then a hundred times that, then as a user again. */
const bot = (/** @type {number} */ second) => (second >= 8 && second < 20 ? 1000 : 10)

/** One key sends a hundred times what the others do, and is within its own limit: who gets what of a whole that is oversold. */
export function keysOfAWhole() {
  const { users, one, refused } = simulate()
  const plot = new Plot(60, 84, 640, 170, {
    x: [0, SECONDS],
    y: [0, 1500],
    xTicks: [0, 5, 10, 15, 20, 25, 30],
    yTicks: [0, 500, 1000, 1500],
    yLabel: 'calls a second that passed',
    xLabel: 'seconds',
  })
  const note = (/** @type {number} */ at, /** @type {number} */ y, /** @type {string} */ words) =>
    text(plot.x(at), plot.y(y), words, { size: 11 })
  return svg(720, 306, 'Calls that passed of a hundred users and of one that sends a hundred times as much', [
    headline('keyedRateLimit({ rate: 1000, oversell: { rate: 1200 } })'),
    legend(60, 48, [
      [colour.blue, 'a hundred users, 10 a second each'],
      [fate.refused, 'one that sends 1000'],
    ]),
    plot.frame(),
    plot.line(users, colour.blue),
    plot.line(one, fate.refused),
    note(8.3, 1330, `of the users ${refused} ${refused === 1 ? 'call is' : 'calls are'} refused in all`),
    note(12, 420, 'what the users leave'),
  ])
}

function simulate() {
  const world = new VirtualRuntime({ seed: 4 })
  const gate = /** @type {import('floodwall').Gate} */ (
    keyedRateLimit({ rate: 1000, oversell: { rate: WHOLE } }).build(world.env('api'))
  )
  const passed = { users: 0, one: 0 }
  let refused = 0
  const ask = (/** @type {'users' | 'one'} */ who, /** @type {string} */ key) => {
    const answer = gate.tryAcquire({ now: world.now(), deadline: Infinity, criticality: 'critical', cost: 1, key })
    if (answer.ok) passed[who]++
    else if (who === 'users') refused++
  }
  let next = 0
  atRandom(
    world,
    () => USERS * 10,
    SECONDS * 1000,
    () => ask('users', `user-${next++ % USERS}`),
  )
  atRandom(
    world,
    (ms) => bot(ms / 1000),
    SECONDS * 1000,
    () => ask('one', 'bot'),
  )
  /** @type {[number, number][]} */
  const users = []
  /** @type {[number, number][]} */
  const one = []
  for (let half = 1; half <= SECONDS * 2; half++) {
    world.advance(500)
    users.push([half / 2, passed.users * 2])
    one.push([half / 2, passed.one * 2])
    passed.users = 0
    passed.one = 0
  }
  return { users, one, refused }
}
