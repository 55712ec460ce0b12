import fc from 'fast-check'
import type { Report, Step, Trace } from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'
import { furnish, type Scene, scenes } from './scene.ts'

// What holds in every world: nothing is lost, nothing is counted twice, and Little's law.

const RUNS = { numRuns: 150, seed: 4 }

/** All that happened. */
class Log {
  private readonly steps: [at: number, step: Step, part: string, id: number][] = []

  readonly trace: Trace = (...step) => void this.steps.push(step)

  /** When it happened, by number. */
  of(part: string, step: Step): Map<number, number> {
    return new Map(this.steps.filter((s) => s[1] === step && s[2] === part).map(([at, , , id]) => [id, at]))
  }
}

/** Three seconds of traffic, then nobody comes any more, the server is mended, and all that can end has time to. */
function lived(scene: Scene): { report: Report; log: Log; clients: ReturnType<typeof furnish>['clients'] } {
  const seen = new Log()
  const { world, clients } = furnish({ ...scene, faults: [...scene.faults, { from: 3000, well: true }] }, seen.trace)
  world.at('3s', () => clients.stop())
  return { report: world.run('5m'), log: seen, clients }
}

const sum = (list: Iterable<number>): number => [...list].reduce((total, x) => total + x, 0)

describe('in every world', () => {
  test('each operation ends once, each request ends once, and what remains was swallowed', () => {
    let operations = 0
    fc.assert(
      fc.property(scenes, (scene) => {
        const { report, log: seen } = lived(scene)
        const { c } = report.clients
        const { s } = report.servers
        if (c === undefined || s === undefined) throw new Error('a part has no report')
        operations += c.begun
        const ends = c.success + c.failure + c.timeout + c.overload + c.refused + c.left + c.ignored
        expect(c.begun).toBe(ends + c.pending)
        // A blackhole gives nothing back, unless the caller leaves or a timeout frees him.
        if (s.vanished === 0) expect(c.pending).toBe(0)
        expect(seen.of('c', 'begin').size).toBe(c.begun)
        expect(seen.of('c', 'end').size).toBe(ends)
        expect(s.inside).toBe(0)
        const { good, failed, wasted, refused, dropped, reset, unreachable, hung, vanished } = s
        expect(good + failed + wasted + refused + dropped + reset + unreachable + hung + vanished).toBe(s.arrived)
        // Who has his answer is not said to leave.
        const finished = seen.of('s', 'finish')
        for (const [id, at] of seen.of('s', 'leave')) expect(finished.get(id) ?? at).toBeGreaterThanOrEqual(at)
        expect(sum(s.series.arrived)).toBe(s.arrived)
        expect(sum(c.series.success) + sum(c.series.failed)).toBe(ends)
        expect(sum(c.series.attempts)).toBe(c.attempts)
      }),
      RUNS,
    )
    console.log(`${operations} operations`)
    expect(operations).toBeGreaterThan(10_000)
  })

  test('nothing is held when all is over: no slot, no call, no waiter', () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const { report, clients } = lived(scene)
        if (report.servers['s']?.vanished !== 0) return
        const { running, layers } = clients.pipeline.inspect() as unknown as {
          running: number
          layers: { used?: number; waiting?: number }[]
        }
        expect([running, ...layers.map((layer) => (layer.used ?? 0) + (layer.waiting ?? 0))]).toEqual(
          new Array(layers.length + 1).fill(0),
        )
      }),
      RUNS,
    )
  })

  test("Little's law: the mean number inside is the time that all spent there, over the time", () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const { report, log: seen } = lived(scene)
        const ends = seen.of('s', 'finish')
        const begins = seen.of('s', 'arrive')
        const spent = sum([...ends].map(([id, at]) => at - (begins.get(id) as number)))
        expect(report.servers['s']?.meanInside).toBeCloseTo(spent / report.elapsedMs, 9)
      }),
      RUNS,
    )
  })

  test('a report survives JSON, and its numbers are finite', () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const { report } = lived(scene)
        expect(JSON.parse(JSON.stringify(report))).toEqual(report)
        expect(JSON.stringify(report.servers['s']?.series)).not.toContain('null')
      }),
      { ...RUNS, numRuns: 50 },
    )
  })

  test('same seed, same history; another seed, another history', () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const [one, again] = [furnish(scene).world.run('3s'), furnish(scene).world.run('3s')]
        expect(again).toEqual(one)
        const other = furnish({ ...scene, seed: scene.seed + 1 }).world.run('3s')
        expect(other.digest).not.toBe(one.digest)
      }),
      { ...RUNS, numRuns: 60 },
    )
  })
})
