// The same faults before each breaker, for the page that says which to take. Real layers in the simulator: callers come at random and have a timeout of a
// second, and all breakers meet the same calls.
import { breaker, presets, throttle, timeout } from 'floodwall'
import { fromSentinel } from 'floodwall/compat/sentinel'
import { arrivalsAt, Clients, fixed, Server, World } from 'floodwall/simulator'
import { seeded } from 'floodwall/testing'

/** @typedef {import('floodwall').Layer} Layer */
/** @typedef {NonNullable<import('floodwall/simulator').ServerOptions['faults']>[number]} Fault */

const ANSWER = '20ms'
/** Whoever waits for longer might as well not have asked. */
const LATE_MS = 250

const sentinelRules = [
  { resource: 'stock', strategy: 0, threshold: 0.5, maxAllowedRtMs: 250 },
  { resource: 'stock', strategy: 1, threshold: 0.5 },
].map((rule) => ({ ...rule, minRequestAmount: 20, statIntervalMs: 10_000, retryTimeoutMs: 5000 }))

const eitherRate = /** @type {const} */ ({ failureRate: 0.5, slowRate: 0.5, slowAfter: '250ms' })

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} [code] what one writes; else the page says it
 * @property {() => readonly Layer[]} layers
 */

/** @type {readonly Contender[]} */
export const contenders = [
  { name: 'none', layers: () => [] },
  {
    name: 'our advice',
    layers: () => [breaker({ ...eitherRate, consecutive: 10, openFor: '1s', openAtMost: '10s' })],
  },
  { name: 'failure rate', code: 'breaker()', layers: () => [breaker()] },
  {
    name: '... of the last 20 calls',
    code: 'lastCalls: 20, atLeast: 10',
    layers: () => [breaker({ lastCalls: 20, atLeast: 10 })],
  },
  {
    name: 'failure or slow rate',
    code: "failureRate: 0.5, slowRate: 0.5, slowAfter: '250ms'",
    layers: () => [breaker(eitherRate)],
  },
  { name: 'error count', code: 'errorCount: 20', layers: () => [breaker({ errorCount: 20 })] },
  { name: 'consecutive', code: 'consecutive: 5', layers: () => [breaker({ consecutive: 5 })] },
  { name: 'error cost', code: 'errorCost: {}', layers: () => [breaker({ errorCost: {} })] },
  { name: 'throttle', code: 'throttle()', layers: () => [throttle()] },
  { name: 'Sentinel, two rules', layers: () => fromSentinel(sentinelRules).layers.get('stock') ?? [] },
  { name: 'resilience4j', code: 'presets.resilience4j()', layers: () => [breaker(presets.resilience4j())] },
  { name: 'Hystrix', code: 'presets.hystrix()', layers: () => [breaker(presets.hystrix())] },
]

/**
 * @typedef {object} Scene
 * @property {string} name
 * @property {number} perSecond
 * @property {number} from when the fault begins, in seconds
 * @property {number} lasts how long it lasts in the middle one of the runs
 * @property {number} end
 * @property {Omit<Fault, 'from'>} fault
 * @property {number} good the share of calls that are answered in time while it lasts
 */

/** @type {readonly Scene[]} */
export const scenes = [
  { name: 'outage', perSecond: 50, from: 15, lasts: 20, end: 90, fault: { errors: 1 }, good: 0 },
  { name: 'half fail', perSecond: 50, from: 15, lasts: 35, end: 90, fault: { errors: 0.5 }, good: 0.5 },
  { name: '5 % fail', perSecond: 50, from: 15, lasts: 60, end: 90, fault: { errors: 0.05 }, good: 0.95 },
  { name: 'slow', perSecond: 50, from: 15, lasts: 20, end: 90, fault: { slow: 25 }, good: 0 },
  { name: 'few calls', perSecond: 1 / 3, from: 90, lasts: 240, end: 540, fault: { errors: 1 }, good: 0 },
]

/** When a probe goes out and when the target is back is a matter of luck: so faults of several lengths, each with other calls. */
const LENGTHS = /** @type {const} */ ([0.7, 0.85, 1, 1.15, 1.3])
const MIDDLE = 2

/**
 * @typedef {object} Figures
 * @property {number} opens seconds from the fault until the breaker does something
 * @property {number} sent of the calls during the fault, the share that reached the target
 * @property {number} lost of the calls that would have been answered in time, from the fault on, the share that was refused
 * @property {number} back seconds from the end of the fault to the last refusal
 */

/** @typedef {readonly [answered: number, failed: number, refused: number]} Fates calls of a second, by what became of them */

/**
 * One run of a scene, by its number.
 *
 * @param {Scene} scene
 * @param {readonly Layer[]} layers
 * @param {number} number
 * @returns {Figures & { seconds: readonly Fates[] }}
 */
export function run(scene, layers, number = MIDDLE) {
  const { perSecond, from, lasts, end, fault, good } = scene
  const to = from + lasts * (LENGTHS[number] ?? 1)
  const world = new World({ seed: number + 1 })
  const server = new Server(world, 'stock', {
    workers: 200,
    service: fixed(ANSWER),
    faults: [
      { from: from * 1000, ...fault },
      { from: to * 1000, well: true },
    ],
  })
  const times = atRandom(perSecond, end, number)
  /** Calls, those that reached the target, and those that were answered in time, by when they began. */
  const [begun, sent, answered] = [new Count(), new Count(), new Count()]
  for (const at of times) begun.add(at)
  new Clients(world, 'shop', {
    to: {
      serve(call, done) {
        const at = world.now()
        sent.add(at)
        server.serve(call, (outcome) => {
          if (outcome.ok && world.now() - at <= LATE_MS) answered.add(at)
          done(outcome)
        })
      },
    },
    through: [...layers, timeout({ after: '1s' })],
    arrivals: arrivalsAt(times),
  })
  const { events } = world.run(end * 1000)
  const refused = begun.minus(sent)
  const opened = events.find(({ type, at }) => type === 'state' && at >= from * 1000)
  const answerable = (/** @type {Count} */ calls) => good * calls.between(from, to) + calls.between(to, end)
  return {
    opens: opened === undefined ? Number.POSITIVE_INFINITY : opened.at / 1000 - from,
    sent: sent.between(from, to) / begun.between(from, to),
    lost: answerable(refused) / answerable(begun),
    back: Math.max(0, refused.lastEnd - to),
    seconds: Array.from({ length: end }, (_, i) => {
      const of = (/** @type {Count} */ calls) => calls.between(i, i + 1)
      return [of(answered), of(sent) - of(answered), of(refused)]
    }),
  }
}

/**
 * Times of calls that come at random, in milliseconds.
 *
 * @param {number} perSecond
 * @param {number} end in seconds
 * @param {number} seed
 */
function atRandom(perSecond, end, seed) {
  const random = seeded(seed)
  /** @type {number[]} */
  const times = []
  let at = 0
  for (;;) {
    at -= (1000 * Math.log(1 - random())) / perSecond
    if (at >= end * 1000) return times
    times.push(at)
  }
}

const TENTH_MS = 100

/** Calls by tenths of a second. */
class Count {
  /** @readonly @private */ calls

  /** @param {readonly number[]} [calls] */
  constructor(calls = []) {
    this.calls = [...calls]
  }

  /** @param {number} ms */
  add(ms) {
    const at = Math.floor(ms / TENTH_MS)
    while (this.calls.length <= at) this.calls.push(0)
    this.calls[at] = (this.calls[at] ?? 0) + 1
  }

  /** @param {Count} other */
  minus(other) {
    return new Count(this.calls.map((calls, i) => calls - (other.calls[i] ?? 0)))
  }

  /**
   * @param {number} from seconds
   * @param {number} to
   */
  between(from, to) {
    const at = (/** @type {number} */ second) => Math.round((second * 1000) / TENTH_MS)
    return this.calls.slice(at(from), at(to)).reduce((sum, calls) => sum + calls, 0)
  }

  /** When the last tenth was over in which there were any, in seconds. */
  get lastEnd() {
    return ((this.calls.findLastIndex((calls) => calls > 0) + 1) * TENTH_MS) / 1000
  }
}

/**
 * The median of the runs.
 *
 * @param {Scene} scene
 * @param {() => readonly Layer[]} layers
 * @returns {Figures}
 */
function figures(scene, layers) {
  const runs = LENGTHS.map((_, number) => run(scene, layers(), number))
  const median = (/** @type {keyof Figures} */ what) =>
    runs.map((one) => one[what]).toSorted((a, b) => a - b)[MIDDLE] ?? 0
  return { opens: median('opens'), sent: median('sent'), lost: median('lost'), back: median('back') }
}

const seconds = (/** @type {number} */ value) =>
  value === Number.POSITIVE_INFINITY ? 'never' : `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} s`
const share = (/** @type {number} */ value) => `${(100 * value).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`

/** @type {readonly (readonly [scene: string, what: keyof Figures])[]} */
const COLUMNS = [
  ['outage', 'opens'],
  ['outage', 'sent'],
  ['outage', 'back'],
  ['half fail', 'opens'],
  ['half fail', 'lost'],
  ['5 % fail', 'lost'],
  ['slow', 'opens'],
  ['slow', 'sent'],
  ['few calls', 'opens'],
  ['few calls', 'sent'],
]

/** The table of the page, in Markdown. */
export function table() {
  const head = ['', ...COLUMNS.map(([scene, what], i) => (COLUMNS[i - 1]?.[0] === scene ? what : `${scene}: ${what}`))]
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(' | ')} |`
  const rows = contenders.map(({ name, code, layers }) => {
    const of = new Map(scenes.map((scene) => [scene.name, figures(scene, layers)]))
    return [
      code === undefined ? name : `${name}: \`${code}\``,
      ...COLUMNS.map(([scene, what]) => {
        const found = of.get(scene)
        if (found === undefined) throw new Error(`no scene ${scene}`)
        // Who never opens has nowhere to come back from.
        if (what === 'back' && found.opens === Number.POSITIVE_INFINITY) return ''
        return what === 'sent' || what === 'lost' ? share(found[what]) : seconds(found[what])
      }),
    ]
  })
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
