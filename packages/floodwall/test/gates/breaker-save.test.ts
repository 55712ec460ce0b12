import { Breaker, type BreakerOptions, type BreakerSave, type BreakerState, isConfigError } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted, offered, rejected } from '../support/asks.ts'
import { Scene, STATES } from '../support/breakers.ts'

const OPTIONS: BreakerOptions = {
  over: 10_000,
  atLeast: 4,
  openFor: 5000,
  growth: 2,
  jitter: 0,
  probes: 2,
  healthyAfter: 60_000,
}

/** As it is after a file, a queue or a database. */
const carried = (scene: Scene): BreakerSave => JSON.parse(JSON.stringify(scene.gate.save())) as BreakerSave

/** A breaker of the next process, whose clock reads something else. */
function restored(save: BreakerSave, ageMs = 0, options: BreakerOptions = OPTIONS): Scene {
  const scene = new Scene(options, 123)
  scene.gate.restore(save, ageMs)
  return scene
}

describe('the next process takes up where this one stopped', () => {
  test('open, saved, restored: still open for the rest, for the same reason', () => {
    const old = new Scene(OPTIONS, 1e9)
    old.calls(4, 'failure')
    old.world.advance(2000)
    const scene = restored(carried(old), 1000)
    const no = rejected(scene.gate, scene.now)
    expect(no).toMatchObject({ reason: 'open', retryAfterMs: 2000, value: 1, limit: 0.5 })
    expect(no.why).toBe('open: 4 of 4 calls failed in the last 10s (100 %, limit 50 %)')
    expect(scene.snapshot).toMatchObject({ state: 'open', probeInMs: 2000, sinceMs: 3000 })
    scene.world.advance(1999)
    rejected(scene.gate, scene.now)
    scene.world.advance(1)
    // ... and a failed probe opens it for longer, as it would have.
    scene.call('failure')
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 10_000 })
  })

  test('the growth of the open time goes on', () => {
    const old = new Scene({ ...OPTIONS, probes: 1 })
    old.gate.steer('open')
    old.world.advance(5000)
    old.call('failure')
    const scene = restored(carried(old), 0, { ...OPTIONS, probes: 1 })
    scene.world.advance(10_000)
    scene.call('failure')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(20_000)
  })

  test.each([4999, 5000, 5001, 1e9])('away for %d ms, with 5000 to go', (ageMs) => {
    const old = new Scene(OPTIONS)
    old.gate.steer('open')
    const scene = restored(carried(old), ageMs)
    if (ageMs < 5000) expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1)
    else admitted(scene.gate, scene.now)
  })

  test.each(STATES)('%s is %s again, told once, with its reason', (state) => {
    const old = new Scene(OPTIONS)
    old.world.advance(10)
    old.gate.steer(state, 'a drill')
    old.world.advance(70)
    const scene = restored(carried(old), 20)
    expect(scene.snapshot).toMatchObject({ state, sinceMs: 90, why: 'a drill', opened: 0 })
    expect(scene.events.map((event) => event.type === 'state' && [event.from, event.to, event.why])).toEqual(
      state === 'closed' ? [] : [['closed', state, 'a drill']],
    )
  })

  test('half-open begins with new probes: those that were out went with their process', () => {
    const old = new Scene(OPTIONS)
    old.gate.steer('halfOpen')
    old.call('success')
    offered(old.gate, 1, old.now)
    const scene = restored(carried(old))
    expect(scene.snapshot.probes).toEqual({ size: 2, free: 2, running: 0, good: 0, bad: 0 })
  })

  test('an open time that is over is saved as what a call would meet', () => {
    const old = new Scene(OPTIONS)
    old.gate.steer('open')
    old.world.advance(6000)
    expect(carried(old)).toMatchObject({ state: 'halfOpen', openMs: 0 })
    const limited = new Scene({ ...OPTIONS, halfOpenAtMost: 1000 })
    limited.gate.steer('halfOpen')
    offered(limited.gate, 1, limited.now)
    limited.world.advance(3000)
    expect(carried(limited)).toMatchObject({ state: 'open', openMs: 3000 })
  })

  test('closed keeps what was counted: a function that is thawed for each call opens at the fourth failure', () => {
    let save: BreakerSave | undefined
    const states: BreakerState[] = []
    for (let i = 0; i < 6; i++) {
      const scene = new Scene(OPTIONS, i * 1017)
      if (save !== undefined) scene.gate.restore(save, 1000)
      const answer = scene.gate.tryAcquire({
        now: scene.now,
        deadline: Infinity,
        criticality: 'critical',
        cost: 1,
        key: '',
      })
      if (answer.ok) answer.settle('failure', 1, scene.now)
      states.push(scene.state)
      save = carried(scene)
    }
    expect(states).toEqual(['closed', 'closed', 'closed', 'open', 'open', 'open'])
  })

  test.each([
    ['a window in calls', { lastCalls: 10 }],
    ['failures in a row', { atLeast: 1000, consecutive: 4 }],
    ['slow calls', { slowRate: 0.5, slowAfter: 80 }],
  ] as const)('so does %s', (_, more) => {
    const options = { ...OPTIONS, ...more }
    const old = new Scene(options)
    for (let i = 0; i < 3; i++) admitted(old.gate, old.now).settle('timeout', 100, old.now)
    const scene = restored(carried(old), 0, options)
    admitted(scene.gate, scene.now).settle('timeout', 100, scene.now)
    expect(scene.state).toBe('open')
  })

  test('what was counted before it went away is forgotten when its time is over', () => {
    const old = new Scene(OPTIONS)
    old.calls(3, 'failure')
    const scene = restored(carried(old), 10_000)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('long health goes on', () => {
    const old = new Scene({ ...OPTIONS, probes: 1 })
    old.gate.steer('open')
    old.world.advance(5000)
    old.call('success')
    old.world.advance(30_000)
    const save = carried(old)
    const openMs = (ageMs: number) => {
      const scene = restored(save, ageMs)
      scene.gate.steer('open')
      return rejected(scene.gate, scene.now).retryAfterMs
    }
    expect([openMs(29_999), openMs(30_000)]).toEqual([10_000, 5000])
  })

  test('a ramp goes on', () => {
    const options = { ...OPTIONS, probes: 1, ramp: 10_000 }
    const old = new Scene(options)
    old.gate.steer('open')
    old.world.advance(5000)
    old.call('success')
    old.world.advance(3000)
    const shares = [0, 2000, 7000].map((ageMs) => restored(carried(old), ageMs, options).snapshot.rampShare)
    expect(shares).toEqual([0.3, 0.5, 1])
    expect(restored(carried(old), 0).snapshot.rampShare).toBe(1)
  })

  test('with eager the rest is waited for', () => {
    const old = new Scene(OPTIONS)
    old.gate.steer('open')
    const scene = restored(carried(old), 1000, { ...OPTIONS, eager: true })
    scene.world.advance(4000)
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen'])
  })

  test('calls that were out say nothing to what was restored', () => {
    const old = new Scene(OPTIONS)
    const scene = new Scene(OPTIONS)
    const out = offered(scene.gate, 10, scene.now)
    scene.gate.restore(carried(old))
    for (const permit of out) permit.settle('failure', 1, scene.now)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('a listener that steers at once has the last word', () => {
    const old = new Scene(OPTIONS)
    old.gate.steer('open')
    const world = new VirtualRuntime()
    const gate: Breaker = new Breaker(OPTIONS, { ...world.env(), emit: () => gate.steer('forcedOpen') })
    gate.restore(carried(old))
    expect(gate.state(0)).toBe('forcedOpen')
    expect(gate.inspect(0)).toMatchObject({ sinceMs: 0 })
  })
})

describe('a save', () => {
  test('is JSON: finite numbers, nothing lost on the way; restored, saved and restored it is the same', () => {
    for (const state of STATES) {
      const scene = new Scene({ ...OPTIONS, consecutive: 9, ramp: 1000 })
      scene.calls(3, 'failure')
      scene.gate.steer(state)
      if (state === 'closed' || state === 'metricsOnly') scene.calls(2, 'success')
      const save = scene.gate.save()
      expect(carried(scene)).toEqual(save)
      const again = restored(carried(scene), 0, { ...OPTIONS, consecutive: 9, ramp: 1000 })
      expect(carried(again)).toEqual(save)
    }
  })

  test('of centuries is cut to what can be restored', () => {
    const old = new Scene({ ...OPTIONS, openFor: '365000d', openAtMost: '365000d' })
    old.gate.steer('open')
    const scene = restored(carried(old))
    expect(scene.snapshot.probeInMs).toBe(1e12)
  })

  test('reading it changes nothing', () => {
    const scene = new Scene(OPTIONS)
    scene.calls(3, 'failure')
    const before = scene.snapshot
    scene.gate.save()
    expect(scene.snapshot).toEqual(before)
  })

  const good = (() => {
    const scene = new Scene(OPTIONS)
    scene.calls(3, 'failure')
    return carried(scene)
  })()

  test.each([
    ['state', 'ajar', 'save.state'],
    ['state', undefined, 'save.state'],
    ['version', 2, 'save.version'],
    ['openMs', -1, 'save.openMs'],
    ['openMs', '5s', 'save.openMs'],
    ['openMs', Number.NaN, 'save.openMs'],
    ['sinceMs', Number.POSITIVE_INFINITY, 'save.sinceMs'],
    ['streak', 1.5, 'save.streak'],
    ['why', 5, 'save.why'],
    ['value', null, 'save.value'],
    ['limit', 'x', 'save.limit'],
    ['rampMs', [], 'save.rampMs'],
    ['memory', { buckets: [{ ageMs: 1, calls: -1, failures: 0, slow: 0 }] }, 'save.memory.buckets[0].calls'],
    ['memory', { buckets: 7 }, 'save.memory.buckets'],
    ['memory', { results: [{ failed: 'yes', slow: false, times: 1 }] }, 'save.memory.results[0].failed'],
    ['memory', { run: -1 }, 'save.memory.run'],
    ['more', 1, 'save.more'],
  ])('with %s %o names the field, and changes nothing', (field, value, path) => {
    const scene = new Scene(OPTIONS)
    scene.calls(2, 'failure')
    const before = scene.snapshot
    let caught: unknown
    try {
      scene.gate.restore({ ...good, [field]: value } as never)
    } catch (error) {
      caught = error
    }
    if (!isConfigError(caught)) throw new Error('nothing was refused')
    expect(caught.issues.map((issue) => issue.path)).toEqual([path])
    expect([scene.snapshot, scene.events]).toEqual([before, []])
  })

  test.each([null, 1, 'x', [], {}, undefined])('that is %o is none', (save) => {
    const scene = new Scene(OPTIONS)
    expect(() => scene.gate.restore(save as never)).toThrow('[config] save')
    expect(scene.events).toEqual([])
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '1', null])('of an age that is none: %o', (ageMs) => {
    const scene = new Scene(OPTIONS)
    expect(() => scene.gate.restore({ ...good, state: 'open' }, ageMs as never)).toThrow('[config] ageMs')
    expect(scene.state).toBe('closed')
  })

  test('with an absurd number of openings costs no time', () => {
    const scene = restored({ ...good, state: 'halfOpen', streak: 1e9 }, 0, { ...OPTIONS, growth: 1, probes: 1 })
    scene.call('failure')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(5000)
  })
})
