import { balance, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { evenly, fateOf, Tally, work } from '../traffic.mjs'

const SECONDS = 40
const PER_SECOND = 80
const DOWN = /** @type {const} */ ([8, 20])
const SICK = 'shop-2'
const IDS = /** @type {const} */ (['shop-1', 'shop-2', 'shop-3', 'shop-4'])

/** Four endpoints, of which one is down for a while: what each was sent. */
export function balanceOverAnOutage() {
  const { tally, counts } = simulate()
  const rows = IDS.map((id, row) => {
    const plot = new Plot(64, 84 + row * 52, 636, 34, {
      x: [0, SECONDS],
      y: [0, 30],
      xTicks: row === IDS.length - 1 ? [0, 10, 20, 30, 40] : [],
      yTicks: [0],
      yName: () => '',
      ...(row === IDS.length - 1 ? { xLabel: 'seconds' } : {}),
    })
    const columns = Array.from({ length: SECONDS }, (_, second) => {
      const good = tally.of(`${id} answered`, second)
      const bad = tally.of(`${id} failed`, second)
      return [
        plot.column(second, second + 0.85, 0, good, colour.green, { 'fill-opacity': 0.85 }),
        plot.column(second, second + 0.85, good, good + bad, colour.red, { 'fill-opacity': 0.85 }),
      ]
    })
    const shade = id === SICK ? plot.column(DOWN[0], DOWN[1], 0, 30, colour.ink, { 'fill-opacity': 0.12 }) : ''
    const note = id === SICK ? text(plot.x(DOWN[1]) - 6, plot.top + 12, 'down', { size: 11, anchor: 'end' }) : ''
    return [shade, text(56, plot.bottom - 4, id, { anchor: 'end', size: 11 }), ...columns.flat(), note, plot.frame()]
  })
  return svg(720, 318, 'Attempts per endpoint while one of four is down', [
    headline('80 calls a second over four endpoints, one retry; defaults throughout'),
    legend(64, 48, [
      [colour.green, 'attempts that were answered'],
      [colour.red, 'attempts that failed'],
    ]),
    text(700, 48, `callers: ${counts.answered} answered, ${counts.failed} failed, ${counts.refused} refused`, {
      anchor: 'end',
      size: 11,
    }),
    ...rows.flat(),
  ])
}

function simulate() {
  const world = new VirtualRuntime({ seed: 5 })
  const layers = [retry({ attempts: 2 }), balance({ endpoints: IDS.map((id) => ({ id })) })]
  const shop = pipeline('shop', layers, { runtime: world })
  const tally = /** @type {Tally<string>} */ (new Tally(1000))
  const counts = { answered: 0, failed: 0, refused: 0 }
  const healthy = work(world, () => 20)
  const sick = work(
    world,
    () => 20,
    (now) => now >= DOWN[0] * 1000 && now < DOWN[1] * 1000,
  )
  evenly(world, PER_SECOND, 0, SECONDS * 1000, () =>
    shop.start(
      (call, done) => {
        const id = call.endpoint?.id ?? ''
        const at = world.now()
        const target = id === SICK ? sick : healthy
        target(call, (outcome) => {
          tally.add(`${id} ${fateOf(outcome)}`, at)
          done(outcome)
        })
      },
      (outcome) => void counts[fateOf(outcome)]++,
      { idempotent: true },
    ),
  )
  world.advance(SECONDS * 1000 + 5000)
  return { tally, counts }
}
