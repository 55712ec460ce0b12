import { bandwidth } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'

const SECONDS = 5
const MB = 1_000_000

/** Three streams that share 1 MB a second: what each has passed, over time. */
export function streamsThatShare() {
  const { backup, video, page } = simulate()
  const plot = new Plot(52, 84, 648, 180, {
    x: [0, SECONDS],
    y: [0, 2.5],
    xTicks: [0, 1, 2, 3, 4, 5],
    yTicks: [0, 0.5, 1, 1.5, 2, 2.5],
    yLabel: 'MB that have passed',
    xLabel: 'seconds',
  })
  return svg(720, 312, 'Three streams that share a byte rate', [
    headline("bandwidth({ rate: '1MB/s' })"),
    legend(52, 48, [
      [colour.blue, 'a backup of 2.4 MB'],
      [colour.green, 'a video of 1.2 MB, from 1 s on'],
      [colour.red, 'a page of 0.1 MB, at 2 s'],
    ]),
    plot.frame(),
    plot.line(backup, colour.blue),
    plot.line(video, colour.green),
    plot.line(page, colour.red),
    text(plot.x(0.1), plot.y(1.35), 'alone: all of it', { size: 11 }),
    text(plot.x(2.45), plot.y(1.95), 'two: half each', { size: 11 }),
    text(plot.x(2.05), plot.y(0.2), 'done after 0.3 s, and not behind the others', { size: 11 }),
  ])
}

function simulate() {
  const world = new VirtualRuntime()
  const link = bandwidth({ rate: '1MB/s' }, world)
  const send = (/** @type {number} */ bytes, /** @type {number} */ at) => {
    /** @type {[number, number][]} */
    const points = []
    let left = bytes
    world.after(at, () => {
      const flow = link.open()
      const pass = (/** @type {number} */ taken) => {
        left -= taken
        points.push([world.now() / 1000, (bytes - left) / MB])
        if (left > 0) flow.wait(left, (granted) => pass(granted + flow.take(left - granted)))
        else flow.close()
      }
      points.push([world.now() / 1000, 0])
      pass(flow.take(left))
    })
    return points
  }
  const backup = send(2.4 * MB, 0)
  const video = send(1.2 * MB, 1000)
  const page = send(0.1 * MB, 2000)
  world.advance(SECONDS * 1000)
  return { backup: thinned(backup), video: thinned(video), page }
}

/** A point for each two hundredths of a second is enough to see. */
function thinned(/** @type {[number, number][]} */ points) {
  return points.filter(([at], i) => i === 0 || i === points.length - 1 || i % 3 === 0 || at === 0)
}
