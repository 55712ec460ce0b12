import { bbrPresets } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { AegisBbr } from '../compat/aegis-bbr/limiter.ts'
import { admitted, ask } from '../support/asks.ts'
import { Scene } from './bbr-scene.ts'

const { formula } = bbrPresets

describe('C14 completions bunched in one bucket; no data; zero milliseconds', () => {
  // The choice: the raw product of two buckets is not a best case, it is a case that never was. A rate is over at least as long as its calls took.
  const window = { over: 1000, buckets: 10, startAt: 200 } as const

  /** A stall of 900 ms in which 90 calls wait, one of 50 ms comes through in each bucket; then all of them end. */
  function afterTheStall(took: (i: number) => number, atLeast = 1): { scene: Scene; aegis: AegisBbr } {
    // On guard it would not let ninety in to begin with.
    const scene = new Scene({ ...window, atLeast })
    const aegis = new AegisBbr({ windowMs: 1000, bucket: 10 })
    const both = (tookMs: number, permit = admitted(scene.gate, scene.now)) => {
      aegis.inFlight++
      permit.settle('success', tookMs, scene.now)
      aegis.done(tookMs * 1000, scene.now * 1000)
    }
    const waiting = scene.admit(90)
    for (let bucket = 0; bucket < 9; bucket++) {
      scene.pass(50)
      both(50)
      scene.pass(50)
    }
    scene.pass(50)
    waiting.forEach((permit, i) => both(took(i), permit))
    scene.pass(50)
    scene.usage = 0.9
    return { scene, aegis }
  }

  test.each<[string, (i: number) => number, number]>([
    ['all waited for 950 ms', () => 950, 9],
    ['they came one each 10 ms', (i) => 950 - 10 * i, 13],
  ])('C14 (a) %s: the raw product is 45, the bound is not', (_, took, bound) => {
    const { scene, aegis } = afterTheStall(took)
    expect(aegis.limit(1_000_000)).toBe(45)
    // More is asked for than it can do, so that there is no slack.
    for (let i = 0; i < 100; i++) scene.enter(20).forEach((permit) => permit.cancel(scene.now))
    scene.pass(100)
    const { bound: now } = scene.shown
    expect(now).toBeLessThanOrEqual(bound)
    expect(now).toBeGreaterThanOrEqual(4)
  })

  test.each([1, 10])(
    'C14 (a) in flight is at most 10 within 5 s and stays there (atLeast %i); the raw product keeps more',
    (atLeast) => {
      const { scene, aegis } = afterTheStall((i) => 950 - 10 * i, atLeast)
      aegis.cpu = 900
      const ours = new FiveWorkers((now) => {
        const answer = scene.gate.tryAcquire(ask(now))
        return answer.ok ? (tookMs, at) => answer.settle('success', tookMs, at) : undefined
      })
      const theirs = new FiveWorkers((now) =>
        aegis.allow(now * 1000) ? (tookMs, at) => aegis.done(tookMs * 1000, at * 1000) : undefined,
      )
      let [most, least] = [0, 1000]
      for (let ms = 0; ms < 20_000; ms++) {
        scene.pass(1)
        for (const workers of [ours, theirs]) workers.step(scene.now)
        if (ms < 5000) continue
        most = Math.max(most, ours.inside)
        least = Math.min(least, theirs.inside)
      }
      expect(most).toBeLessThanOrEqual(10)
      expect(least).toBeGreaterThan(10)
      // And nothing is lost by it: 100 a second.
      expect(ours.done / 20).toBeGreaterThan(90)
    },
  )

  test('C14 (b) no completion yet, the CPU hot: the first call passes, and as many as startAt', () => {
    const scene = new Scene()
    scene.usage = 0.9
    expect(scene.enter(1)).toHaveLength(1)
    expect(scene.enter(50)).toHaveLength(9)
    expect(scene.shown.bound).toBe(10)
  })

  test('C14 (b) a window without a success, timeouts alone, is no reason to open or to close', () => {
    const scene = new Scene()
    scene.usage = 1
    for (let i = 0; i < 200; i++) {
      scene.pass(50)
      for (const permit of scene.enter(20)) permit.settle('timeout', 1000, scene.now)
    }
    expect(scene.shown.bound).toBe(10)
  })

  test('C14 (c) all completions take 0.3 ms: the bound is at least 1, and 0.3 stays 0.3', () => {
    const scene = new Scene(formula)
    scene.traffic(2000, 10, 0.3)
    scene.usage = 1
    scene.pass(200)
    expect(scene.shown.leastMs).toBeCloseTo(0.3, 10)
    expect(scene.shown.bound).toBe(1)
    expect(scene.enter(5)).toHaveLength(1)
  })

  test('C14 (c) nothing takes any time at all', () => {
    const scene = new Scene(formula)
    scene.traffic(1000, 10, 0)
    scene.usage = 1
    scene.pass(200)
    expect(scene.enter(5)).toHaveLength(1)
    expect(scene.shown).toMatchObject({ leastMs: 0, bound: 1 })
  })

  test('C14 (d) one completion in 10 s: the only call passes, hot as it is', () => {
    for (const options of [{}, formula]) {
      const scene = new Scene(options)
      scene.usage = 1
      for (let i = 0; i < 10; i++) {
        scene.pass(10_000)
        for (const permit of scene.admit()) permit.settle('success', 40, scene.now)
        scene.pass(5000)
        scene.admit()[0]?.settle('success', 40, scene.now)
      }
      expect(scene.shown.refused).toBe(0)
    }
  })

  test('C14 a heavy call of 2 s on one worker is not taken for ten in a second', () => {
    const scene = new Scene({ ...formula, over: '20s', buckets: 200 })
    for (let i = 0; i < 8; i++) {
      const [permit] = scene.admit()
      scene.pass(2000)
      permit?.settle('success', 2000, scene.now)
    }
    scene.pass(100)
    expect(scene.shown).toMatchObject({ peak: 0.5, leastMs: 2000, bound: 1 })
  })
})

/** Capacity 100 a second at 50 ms; 250 are wanted. */
class FiveWorkers {
  inside = 0
  done = 0
  private readonly enter: (now: number) => ((tookMs: number, now: number) => void) | undefined
  private line: { readonly since: number; readonly end: (tookMs: number, now: number) => void }[] = []
  private busy: { readonly until: number; readonly job: FiveWorkers['line'][number] }[] = []

  constructor(enter: FiveWorkers['enter']) {
    this.enter = enter
  }

  step(now: number): void {
    for (const { job } of this.busy.filter(({ until }) => until <= now)) {
      job.end(now - job.since, now)
      this.inside--
      this.done++
    }
    this.busy = this.busy.filter(({ until }) => until > now)
    if (now % 4 === 0) {
      const end = this.enter(now)
      if (end !== undefined) {
        this.line.push({ since: now, end })
        this.inside++
      }
    }
    while (this.busy.length < 5 && this.line.length > 0)
      this.busy.push({ until: now + 50, job: this.line.shift() as FiveWorkers['line'][number] })
  }
}
