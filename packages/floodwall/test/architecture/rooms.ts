import type { Module } from './source.ts'

const UPKEEP = ['core', 'algorithms', 'policies', 'caches', 'wire', 'client', 'server', 'rules']

/**
 * The rooms of packages/floodwall/src and what each may import besides itself. Compat, simulator and testing look in: nobody further in lists them,
 * and the simulator runs in the virtual time of testing.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  algorithms: ['core'],
  policies: ['core', 'algorithms'],
  caches: ['core', 'algorithms'],
  wire: ['core', 'algorithms'],
  client: ['core', 'algorithms', 'policies', 'wire'],
  server: ['core', 'algorithms', 'policies', 'wire'],
  admin: ['core', 'algorithms', 'caches', 'wire', 'server'],
  rules: ['core', 'algorithms', 'policies', 'caches', 'wire', 'client', 'server'],
  adapters: UPKEEP,
  compat: UPKEEP,
  simulator: [...UPKEEP, 'testing'],
  testing: UPKEEP,
  // The front door, src/index.ts: an adapter would pull its peer into every program.
  'index.ts': UPKEEP,
}

/** The questions that algorithms answer, one folder each. */
const QUESTIONS = [
  'stats',
  'trips',
  'gates',
  'rates',
  'keys',
  'estimators',
  'admission',
  'queues',
  'sketches',
  'fairness',
  'retry',
  'cluster',
]

const LIBRARY = 'packages/floodwall/src/'

/** 'core' for packages/floodwall/src/core/gate.ts, 'index.ts' for the front door, undefined outside of the library's sources. */
export function roomOf(path: string): string | undefined {
  return path.startsWith(LIBRARY) ? path.slice(LIBRARY.length).split('/')[0] : undefined
}

/** Every file lies in a known room, and every question in its folder. */
export function* location({ path }: Module): Generator<string> {
  const room = roomOf(path)
  if (room === undefined) return
  if (!(room in ROOMS)) yield `${path}: there is no room '${room}' in the library`
  const question = room === 'algorithms' ? path.slice(`${LIBRARY}algorithms/`.length).split('/') : []
  if (question.length > 1 && !QUESTIONS.includes(question[0] ?? '')) {
    yield `${path}: '${question[0]}' is none of the questions (${QUESTIONS.join(', ')})`
  }
  if (question.length === 1 && question[0] !== 'index.ts')
    yield `${path}: an algorithm lies in the folder of its question`
}

/** Imports point inward, adapters do not know each other, and packages meet at their entry points. */
export function* direction({ path, imports }: Module): Generator<string> {
  const room = roomOf(path)
  for (const { from, target, line } of imports) {
    const at = `${path}:${line}`
    if (target === undefined) {
      if (room !== undefined) yield* outside(at, room, from)
      continue
    }
    if (packageOf(target) !== packageOf(path)) yield `${at} imports a file of another package: ${from}`
    const other = roomOf(target)
    if (room === undefined || other === undefined) continue
    if (room !== other && !ROOMS[room]?.includes(other)) yield `${at} ${room} must not import ${other}: ${from}`
    if (room === 'adapters' && other === room && adapterOf(path) !== adapterOf(target)) {
      yield `${at} an adapter must not import another: ${from}`
    }
  }
}

function* outside(at: string, room: string, from: string): Generator<string> {
  if (from === 'floodwall' || from.startsWith('floodwall/'))
    yield `${at} the library must not import itself by name: ${from}`
  const native = from.startsWith('node:')
  if (room === 'algorithms' && from !== 'valibot') yield `${at} algorithms import core and valibot only: ${from}`
  else if (room !== 'adapters' && !native && from !== 'valibot')
    yield `${at} only adapters import other packages: ${from}`
}

const packageOf = (path: string): string => path.split('/').slice(0, 2).join('/')
const adapterOf = (path: string): string => path.slice(`${LIBRARY}adapters/`.length).split('/')[0] ?? ''

/** Modules that wait for each other to load. Types alone may refer to each other: they vanish. */
export function* cycles(modules: readonly Module[]): Generator<string> {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const done = new Set<string>()
  const trail: string[] = []
  function* visit(path: string): Generator<string> {
    if (done.has(path)) return
    const seen = trail.indexOf(path)
    if (seen >= 0) {
      yield `import cycle: ${[...trail.slice(seen), path].join(' -> ')}`
      return
    }
    trail.push(path)
    for (const { target, typeOnly } of byPath.get(path)?.imports ?? []) {
      if (target !== undefined && !typeOnly) yield* visit(target)
    }
    trail.pop()
    done.add(path)
  }
  for (const { path } of modules) yield* visit(path)
}
