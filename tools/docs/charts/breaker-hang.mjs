import { breaker, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { band, fate, headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { evenly, fateOf, Tally, work } from '../traffic.mjs'

const SECONDS = 45
const PER_SECOND = 40
const DEAD = /** @type {const} */ ([5, 17])
const STEP_MS = 250
const FAST_MS = 50
/** Whoever calls a dead target waits for as long as the target is dead, and longer than this picture. */
const NEVER_MS = 60_000
const COMMON = /** @type {const} */ ({ over: '5s', openFor: '2s', openAtMost: '4s', jitter: 0 })

const STATE = /** @type {const} */ ({ closed: colour.green, open: colour.red, halfOpen: colour.blue })

/** A target that answers nothing, and callers without a timeout: who waits; and how traffic returns. */
export function breakerAndATargetThatHangs() {
  const blind = simulate({ ...COMMON, failureRate: 0.5 })
  const watching = simulate({ ...COMMON, slowRate: 0.3, slowAfter: '500ms', ramp: '10s' })
  const most = PER_SECOND * (DEAD[1] - DEAD[0])
  const top = new Plot(64, 84, 636, 120, {
    x: [0, SECONDS],
    y: [0, most + 20],
    yTicks: [0, 100, 200, 300, 400, 500],
    yLabel: 'calls that wait',
  })
  const low = new Plot(64, 250, 636, 84, {
    x: [0, SECONDS],
    y: [0, PER_SECOND],
    xTicks: [0, 5, 10, 15, 20, 25, 30, 35, 40, 45],
    yTicks: [0, PER_SECOND],
    yLabel: 'with slowRate, calls per second',
  })
  const columns = Array.from({ length: SECONDS }, (_, second) => {
    const passed = watching.tally.of('answered', second)
    const refused = watching.tally.of('refused', second)
    return [
      low.column(second, second + 0.88, 0, passed, fate.answered, { 'fill-opacity': 0.85 }),
      low.column(second, second + 0.88, passed, passed + refused, fate.refused, { 'fill-opacity': 0.45 }),
    ]
  })
  const held = Math.max(...watching.inside.map(([, calls]) => calls))
  return svg(
    720,
    404,
    'A target that answers nothing: calls that wait, with and without slowRate, and the return of traffic',
    [
      headline('40 calls a second without a timeout; for 12 s the target answers nothing'),
      legend(64, 48, [
        [colour.violet, 'failureRate 0.5'],
        [colour.blue, 'slowRate 0.3, slowAfter 500ms, ramp 10s'],
      ]),
      top.column(DEAD[0], DEAD[1], 0, most + 20, colour.ink, { 'fill-opacity': 0.1 }),
      text(top.x(DEAD[0]) + 6, top.top + 14, 'no answers', { size: 11 }),
      top.frame(),
      top.area(blind.inside, colour.violet, 0.1),
      top.line(blind.inside, colour.violet),
      top.line(watching.inside, colour.blue),
      text(top.x(18), top.y(390), `${most} wait, and more would: none of them has failed`, {
        size: 11,
        fill: colour.violet,
      }),
      text(top.x(18), top.y(held) - 8, `${held} wait: those that hang are slow already`, {
        size: 11,
        fill: colour.blue,
      }),
      low.frame(),
      ...columns.flat(),
      legend(330, 242, [
        [fate.answered, 'answered'],
        [fate.refused, 'refused', 0.45],
      ]),
      band(low, 362, 'breaker', watching.states, { to: SECONDS, opacity: 0.8 }),
      legend(64, 394, [
        [STATE.closed, 'closed', 0.8],
        [STATE.open, 'open', 0.8],
        [STATE.halfOpen, 'half-open', 0.8],
      ]),
      text(low.right, 394, 'seconds', { anchor: 'end', size: 11 }),
    ],
  )
}

/** @param {import('floodwall').BreakerOptions} options */
function simulate(options) {
  const world = new VirtualRuntime({ seed: 4 })
  const guarded = pipeline('stock', [breaker(options)], { runtime: world })
  const target = work(world, (now) => (now >= DEAD[0] * 1000 && now < DEAD[1] * 1000 ? NEVER_MS : FAST_MS))
  const tally = /** @type {Tally<'answered' | 'failed' | 'refused'>} */ (new Tally(1000))
  evenly(world, PER_SECOND, 0, SECONDS * 1000, () => {
    const at = world.now()
    guarded.start(target, (outcome) => tally.add(fateOf(outcome), at))
  })
  /** @type {[number, number][]} */
  const inside = []
  for (let at = 0; at <= SECONDS * 1000; at += STEP_MS) {
    inside.push([at / 1000, Number(guarded.inspect()['running'])])
    world.advance(STEP_MS)
  }
  /** @type {(readonly [number, string, string])[]} */
  const states = [[0, '', STATE.closed]]
  for (const event of world.events) {
    if (event.type === 'state' && event.at < SECONDS * 1000)
      states.push([event.at / 1000, '', STATE[/** @type {keyof typeof STATE} */ (event.to)]])
  }
  return { inside, tally, states }
}
