// How long after it turned bad is an endpoint out, and how many calls did that cost?
import { contenders } from '../contenders.mjs'
import { Endpoint } from '../endpoint.mjs'
import { both, middle, seconds, whole } from '../report.mjs'
import { Run } from '../run.mjs'

const ENDPOINTS = 4
const WELL_MS = 10_000
const BAD_MS = 60_000

const speeds = { fast: 'at once', equal: 'as slowly as answers', slow: 'by timeout' }

const names = ['floodwall', 'opossum, defaults', 'opossum, tuned', 'cockatiel, 5 in a row']

export const isolation = {
  name: 'fault to isolation',
  contenders: names,
  rows: [1, 0.5, 0.3].flatMap((share) =>
    Object.entries(speeds).flatMap(([speed, title]) =>
      [10, 100, 1000].map((perSecond) => ({
        name: `fault to isolation: ${share * 100} % fail ${title}, ${perSecond}/s`,
        share,
        speed,
        perSecond,
      })),
    ),
  ),

  async measure({ share, speed, perSecond }, contender, seed, library) {
    const run = new Run(library, seed)
    const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => new Endpoint(run.world, run.random(i)))
    const [sick] = endpoints
    // Not at the edge of anybody's bucket.
    const faultMs = WELL_MS + run.random(99)() * 1000
    let isolatedMs = null
    let wasted = 0
    let innocent = 0
    const fleet = await contenders[contender](
      library,
      run.scene(endpoints, (endpoint) => {
        if (endpoint !== 0) innocent++
        else if (isolatedMs === null) {
          isolatedMs = run.now - faultMs
          wasted = sick.failures
        }
      }),
    )
    run.flow(perSecond, faultMs + BAD_MS, () => fleet.send(() => {}))
    await run.until(faultMs, fleet)
    sick.break(share, speed)
    await run.until(faultMs + BAD_MS, fleet)
    run.end()
    return { isolatedMs, wasted: isolatedMs === null ? sick.failures : wasted, lost: sick.failures, innocent }
  },

  /** Time until it was out; calls that failed there until then, and within a minute: who asks too often pays later. */
  columns: names.flatMap((name) => [
    [name, (line) => both(line.of(name), 'isolatedMs', seconds)],
    ['failed', (line) => `${whole(middle(line.of(name), 'wasted'))}, ${whole(middle(line.of(name), 'lost'))}`],
  ]),
}
