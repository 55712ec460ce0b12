// The rows of the loopback part, and how they are measured and shown.
import { overruns as overBudget } from '../../budgets.mjs'
import { budgetColumns, markdown, table } from '../../lib/report.mjs'
import { contenders } from './contenders.mjs'
import { added, addedNs, cpuRatio, hello } from './cost.mjs'
import { storm, TRIGGER_S } from './metastable.mjs'
import { pauses, pausing } from './pauses.mjs'
import { calibrate, climb, plans, SLICE_MS } from './staircase.mjs'

const HANDLERS = ['1 ms', '5 ms', '20 ms', '1 ms and 20 ms of waiting']
const QUICK_HANDLERS = ['5 ms']
/** At the least of the peak less what the refusals cost; and from 1.5 on. */
const OF_BOUND = 0.97
/** Handlers of 5 ms and more, at ten times the load: of the peak. */
const OF_PEAK = 0.95
/** After a storm. */
const BACK_S = 5

const guards = contenders.filter(({ name }) => name !== 'nothing, fastify')
const bareOf = (contender) => contenders.find(({ name }) => name === contender).bare

const stairs = HANDLERS.flatMap((handler) =>
  guards.map(({ name: contender }) => ({ name: `${handler}: ${contender}`, handler, contender })),
)
/** A handler that computes, and one that waits in a row of its own, which nobody sees, and does not care whether its client is still there. */
const storms = ['5 ms', 'pool of 4, 80 ms'].flatMap((handler) =>
  ['nothing', 'floodwall'].map((contender) => ({
    ...{ name: `storm of retries, ${handler}: ${contender}`, contender, handler },
  })),
)

export const names = [...stairs, ...added, ...hello, ...pauses, ...storms].map(({ name }) => name)

export async function run(wanted, { node, floodwall, quick, rounds, processes }, progress) {
  const isWanted = ({ name }) => wanted.includes(name)
  const found = []
  const perMs = await calibrate(node)
  const what = (row) => ({ contender: row.contender, handler: row.handler, perMs, node, floodwall })
  const plan = quick ? plans.quick : plans.full
  for (const row of stairs.filter(isWanted)) {
    // By name it is measured in any case.
    if (quick && wanted.length === names.length && !QUICK_HANDLERS.includes(row.handler)) continue
    progress(row.name)
    const { contender } = row
    found.push({ ...row, part: 'stairs', ...(await climb(what(row), bareOf(contender), plan)) })
  }
  const cost = { node, floodwall, rounds: rounds ?? (quick ? 10 : 25), processes: processes ?? (quick ? 2 : 5) }
  for (const row of added.filter(isWanted)) found.push({ ...(await addedNs(row, cost, progress)), part: 'added' })
  const pairs = { node, floodwall, rounds: rounds ?? 8, requests: quick ? 4000 : 15_000 }
  for (const row of hello.filter(isWanted)) found.push({ ...(await cpuRatio(row, pairs, progress)), part: 'hello' })
  for (const row of pauses.filter(isWanted)) {
    progress(row.name)
    found.push({ ...row, part: 'pause', ...(await pausing(row, { node, floodwall })) })
  }
  for (const row of storms.filter(isWanted)) {
    if (quick && wanted.length === names.length && !QUICK_HANDLERS.includes(row.handler)) continue
    progress(row.name)
    found.push({
      ...row,
      part: 'storm',
      ...(await storm(what(row), bareOf(row.contender), { afterS: quick ? 8 : 12 })),
    })
  }
  return found
}

const percent = (share) => (share === null || !Number.isFinite(share) ? '-' : `${(share * 100).toFixed(0)} %`)
const ms = (value) => (value === null ? '-' : value.toFixed(value < 9.95 ? 1 : 0))
const whole = (value) => value.toFixed(0)
const nameColumn = ['row', (row) => row.name]

/** `text` of the step at `load`. */
const at = (load, text) => (row) => {
  const step = row.steps.find((one) => one.load === load)
  return step === undefined ? '' : text(step)
}
/** Goodput, and the time of those who were let in. */
const figures = ({ goodput, p50Ms, p99Ms }) =>
  p50Ms === null ? percent(goodput) : `${percent(goodput)}, ${ms(p50Ms)}/${ms(p99Ms)}`
const refusalMicros = ({ refusalMs }) => (refusalMs === null ? '-' : whole(refusalMs * 1000))

const loads = plans.full.loads
const goodputColumns = [nameColumn, ...loads.map((load) => [`${load}x`, at(load, figures)])]
const refusalColumns = [
  nameColumn,
  ...[4, 10].flatMap((load) => [
    [`${load}x: refused/s`, at(load, ({ refusedPerSecond }) => whole(refusedPerSecond))],
    ['µs each', at(load, refusalMicros)],
  ]),
  ...[1.5, 4, 10].map((load) => [`of the bound, ${load}x`, at(load, ({ ofBound }) => percent(ofBound))]),
  ['1x to 4x', ({ reaction }) => (reaction.ms === null ? 'not' : `${reaction.ms} ms`)],
  ['longest', ({ reaction }) => `${whole(Math.max(0, ...reaction.delays.filter((delay) => delay !== null)))} ms`],
  ['goal', (row) => goal(row)],
]
const budgeted = (columns) => [
  nameColumn,
  ...columns,
  ['spread', (row) => percent(row.spread)],
  ['noise', ({ noisy }) => (noisy ? 'noisy' : '')],
  ...budgetColumns,
]
const addedColumns = budgeted([
  ['added ns', ({ nsPerOp }) => whole(nsPerOp)],
  ['without', ({ bareNsPerOp }) => whole(bareNsPerOp)],
  ['refused', ({ refused }) => percent(refused)],
])
const helloColumns = budgeted([
  ['CPU ratio', ({ ratio }) => `${ratio.toFixed(3)}x`],
  ['µs without', ({ bareNsPerOp }) => (bareNsPerOp / 1000).toFixed(1)],
  ['refused', ({ refused }) => percent(refused)],
])
const stormColumns = [
  nameColumn,
  [`% of calls answered, by second (3 before, ${TRIGGER_S} of trouble, then none)`, ({ success }) => shares(success)],
  ['tries of each', ({ tries }) => tries.map((each) => each.toFixed(1)).join(' ')],
  ['back after', ({ backS }) => (backS === null ? 'not' : `${backS} s`)],
]
const pauseColumns = [
  nameColumn,
  ['calls', ({ all }) => whole(all)],
  ['refused', ({ refused }) => whole(refused)],
  ['unsent', ({ unsent }) => whole(unsent)],
  ['p99', ({ p99Ms }) => `${ms(p99Ms)} ms`],
]
const shares = (all) => all.map((share) => whole(share * 100)).join(' ')

/** What of a row is over its budget, or behind its goal. */
export function overruns(row) {
  if (row.part === 'stairs') return isOurs(row) ? missed(row) : []
  if (row.part === 'pause') return []
  if (row.part === 'storm') return isOurs(row) ? behind(row.backS !== null && row.backS <= BACK_S, 'back') : []
  return overBudget(row)
}

const isOurs = ({ contender }) => contender.startsWith('floodwall')
const behind = (holds, what) => (holds ? [] : [what])

function missed({ steps, handler }) {
  const over = steps.filter(({ load }) => load >= 1.5)
  const last = steps.find(({ load }) => load === 10)
  return [
    ...over.flatMap(({ load, ofBound }) => behind(ofBound >= OF_BOUND, `${load}x`)),
    ...(handler === '1 ms' || last === undefined || handler.includes('waiting')
      ? []
      : behind(last.goodput >= OF_PEAK, '10x of the peak')),
  ]
}

function goal(row) {
  if (!isOurs(row)) return ''
  const over = missed(row)
  return over.length === 0 ? 'ok' : `behind: ${over.join(', ')}`
}

/** Tables as text. */
export function show(rows, asMarkdown) {
  const print = asMarkdown ? markdown : table
  const of = (part) => rows.filter((row) => row.part === part)
  return [
    [of('stairs'), goodputColumns],
    [of('stairs'), refusalColumns],
    [of('added'), addedColumns],
    [of('hello'), helloColumns],
    [of('pause'), pauseColumns],
    [of('storm'), stormColumns],
  ]
    .filter(([list]) => list.length > 0)
    .map(([list, columns]) => print(list, columns))
}

/** For programs. */
export function valuesOf({ part, peak, steps, reaction, success, tries, backS, all, refused, unsent, p99Ms }) {
  if (part === 'stairs')
    return { peak, steps, reaction: { ms: reaction.ms, sliceMs: SLICE_MS, delays: reaction.delays } }
  if (part === 'storm') return { success, tries, backS }
  if (part === 'pause') return { all, refused, unsent, p99Ms }
  return undefined
}
