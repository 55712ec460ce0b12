import { breaker, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { band, fate, headline, legend, Plot } from '../plot.mjs'
import { arrow, colour, rect, svg, text } from '../svg.mjs'
import { evenly, fateOf, Tally, work } from '../traffic.mjs'

const SECONDS = 60
const PER_SECOND = 20
const DOWN = /** @type {const} */ ([10, 32])

const STATE = /** @type {const} */ ({ closed: colour.green, open: colour.red, halfOpen: colour.blue })

/** A minute with an outage of 22 seconds: what 20 calls a second met, and which state the breaker was in. */
export function breakerOverAnOutage() {
  const { tally, states } = simulate()
  const plot = new Plot(64, 84, 636, 140, {
    x: [0, SECONDS],
    y: [0, PER_SECOND],
    xTicks: [0, 10, 20, 30, 40, 50, 60],
    yTicks: [0, 10, 20],
    yLabel: 'calls per second',
  })
  const fates = /** @type {const} */ (['answered', 'failed', 'refused'])
  const columns = Array.from({ length: SECONDS }, (_, second) => {
    let from = 0
    return fates.map((what) => {
      const count = tally.of(what, second)
      from += count
      return plot.column(second, second + 0.85, from - count, from, fate[what], {
        'fill-opacity': what === 'refused' ? 0.45 : 0.85,
      })
    })
  })
  const target = /** @type {const} */ ([
    [0, 'up', colour.green],
    [DOWN[0], 'down', colour.red],
    [DOWN[1], 'up', colour.green],
  ])
  return svg(720, 314, 'A breaker over an outage: calls answered, failed and refused, and its states', [
    headline('An outage of 22 s, seen by a breaker (openFor 2s, openAtMost 8s)'),
    legend(64, 48, [
      [fate.answered, 'answered'],
      [fate.failed, 'failed: reached the broken target'],
      [fate.refused, 'refused at once', 0.45],
    ]),
    plot.frame(),
    ...columns.flat(),
    band(plot, 254, 'target', target, { to: SECONDS, opacity: 0.3 }),
    band(plot, 274, 'breaker', states, { to: SECONDS, opacity: 0.8 }),
    legend(64, 306, [
      [STATE.closed, 'closed', 0.8],
      [STATE.open, 'open', 0.8],
      [STATE.halfOpen, 'half-open: probes are out', 0.8],
    ]),
    text(plot.right, 306, 'seconds', { anchor: 'end', size: 11 }),
  ])
}

function simulate() {
  const world = new VirtualRuntime({ seed: 4 })
  const guarded = pipeline('inventory', [breaker({ openFor: '2s', openAtMost: '8s' })], { runtime: world })
  const target = work(
    world,
    () => 120,
    (now) => now >= DOWN[0] * 1000 && now < DOWN[1] * 1000,
  )
  const tally = /** @type {Tally<'answered' | 'failed' | 'refused'>} */ (new Tally(1000))
  evenly(world, PER_SECOND, 0, SECONDS * 1000, () => {
    const at = world.now()
    guarded.start(target, (outcome) => tally.add(fateOf(outcome), at))
  })
  world.advance((SECONDS + 1) * 1000)
  /** @type {(readonly [number, string, string])[]} */
  const states = [[0, '', STATE.closed]]
  for (const event of world.events) {
    if (event.type === 'state' && event.at < SECONDS * 1000)
      states.push([event.at / 1000, '', STATE[/** @type {keyof typeof STATE} */ (event.to)]])
  }
  return { tally, states }
}

/** The three states that a breaker moves between by itself. */
export function breakerStates() {
  const box = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {string} */ name,
    /** @type {string} */ what,
    /** @type {string} */ stroke,
  ) => [
    rect(x, y, 190, 56, { rx: 8, fill: stroke, 'fill-opacity': 0.12, stroke, 'stroke-width': 1.5 }),
    text(x + 95, y + 24, name, { anchor: 'middle', size: 14, bold: true, fill: stroke }),
    text(x + 95, y + 43, what, { anchor: 'middle', size: 11 }),
  ]
  return svg(720, 236, 'The states of a breaker: closed, open, half-open', [
    ...box(20, 44, 'closed', 'everything passes, is counted', STATE.closed),
    ...box(510, 44, 'open', 'everything is refused', STATE.open),
    ...box(265, 154, 'half-open', 'a few probes pass', STATE.halfOpen),
    arrow([
      [212, 62],
      [508, 62],
    ]),
    text(360, 54, 'too many failed or slow calls, or failures in a row', { anchor: 'middle', size: 11 }),
    arrow([
      [620, 102],
      [620, 182],
      [457, 182],
    ]),
    text(610, 142, 'openFor is over,', { anchor: 'end', size: 11 }),
    text(610, 156, 'a call asks', { anchor: 'end', size: 11 }),
    arrow([
      [263, 182],
      [115, 182],
      [115, 102],
    ]),
    text(126, 142, 'the probes', { size: 11 }),
    text(126, 156, 'succeeded', { size: 11 }),
    arrow([
      [360, 152],
      [360, 86],
      [508, 86],
    ]),
    text(350, 114, 'they failed:', { size: 11, anchor: 'end' }),
    text(350, 128, 'open for longer', { size: 11, anchor: 'end' }),
    text(360, 229, 'disabled, forcedOpen and metricsOnly are entered and left by hand', { anchor: 'middle', size: 11 }),
  ])
}
