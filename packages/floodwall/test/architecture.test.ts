import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { clocks, purity } from './architecture/purity.ts'
import { cycles, direction, location } from './architecture/rooms.ts'
import { parse, type Source } from './architecture/source.ts'
import { exporting, names, size } from './architecture/style.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

function violations(sources: readonly Source[]): string[] {
  const modules = sources.map(parse)
  const perModule = [location, direction, purity, clocks, size, names, exporting]
  return [...modules.flatMap((module) => perModule.flatMap((rule) => [...rule(module)])), ...cycles(modules)]
}

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?[jt]sx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: file.slice(root.length).replaceAll('\\', '/'), text: readFileSync(file, 'utf8') }))
}

test('the packages keep the rules', () => {
  const sources = readdirSync(join(root, 'packages')).flatMap((name) =>
    ['src', 'test'].map((part) => join('packages', name, part)).flatMap(sourcesIn),
  )
  expect(sources.length).toBeGreaterThan(0)
  expect(violations(sources)).toEqual([])
})

const L = 'packages/floodwall/src'

/** Files by path, and what the rules must say of them: a part of the only line, or nothing. */
type Case = readonly [name: string, files: Record<string, string>, verdict: string | undefined]

const lines = (n: number) => `${'// line\n'.repeat(n)}`
const algorithm = (text: string) => ({ [`${L}/algorithms/stats/window.ts`]: text })
const core = (text: string) => ({ [`${L}/core/call.ts`]: text })

const CASES: readonly Case[] = [
  // Rooms.
  ['core imports core', core("import { a } from './gate.ts'\nimport { b } from 'node:async_hooks'"), undefined],
  [
    'core imports an algorithm',
    core("import { a } from '../algorithms/rates/gcra.ts'"),
    'core must not import algorithms',
  ],
  [
    'core imports a type of an algorithm',
    core("import type { A } from '../algorithms/rates/gcra.ts'"),
    'call.ts:1 core must',
  ],
  [
    'core re-exports an algorithm',
    core("export * from '../algorithms/rates/gcra.ts'"),
    'core must not import algorithms',
  ],
  ['core loads an algorithm late', core("export const a = import('../algorithms/rates/gcra.ts')"), 'core must not'],
  [
    'core names the type of an algorithm',
    core("export type A = import('../algorithms/rates/gcra.ts').A"),
    'core must not',
  ],
  [
    'an algorithm imports core and valibot',
    algorithm("import { a } from '../../core/call.ts'\nimport * as v from 'valibot'"),
    undefined,
  ],
  ['an algorithm imports node', algorithm("import { a } from 'node:util'"), 'core and valibot only'],
  ['an algorithm imports a package', algorithm("import { a } from 'undici'"), 'core and valibot only'],
  [
    'an algorithm imports a policy',
    algorithm("import { a } from '../../policies/retry.ts'"),
    'algorithms must not import policies',
  ],
  ['a policy imports inward', { [`${L}/policies/retry.ts`]: "import { a } from '../core/call.ts'" }, undefined],
  [
    'a policy imports a client',
    { [`${L}/policies/retry.ts`]: "import { a } from '../client/client.ts'" },
    'policies must not',
  ],
  ['a policy imports a package', { [`${L}/policies/retry.ts`]: "import { a } from 'undici'" }, 'only adapters'],
  [
    'a server imports rules',
    { [`${L}/server/drain.ts`]: "import { a } from '../rules/parse.ts'" },
    'server must not import rules',
  ],
  ['rules import a policy', { [`${L}/rules/parse.ts`]: "import { a } from '../policies/retry.ts'" }, undefined],
  [
    'rules import an adapter',
    { [`${L}/rules/parse.ts`]: "import { a } from '../adapters/http/edge.ts'" },
    'rules must not',
  ],
  [
    'an adapter imports itself',
    { [`${L}/adapters/http/edge.ts`]: "import { a } from './body.ts'\nimport 'undici'" },
    undefined,
  ],
  [
    'an adapter imports another',
    { [`${L}/adapters/http/edge.ts`]: "import { a } from '../koa/edge.ts'" },
    'must not import another',
  ],
  ['the simulator looks in', { [`${L}/simulator/world.ts`]: "import { a } from '../rules/build.ts'" }, undefined],
  [
    'rules import the simulator',
    { [`${L}/rules/parse.ts`]: "import { a } from '../simulator/world.ts'" },
    'must not import simulator',
  ],
  [
    'the front door opens on testing',
    { [`${L}/index.ts`]: "export * from './testing/index.ts'" },
    'must not import testing',
  ],
  ['core imports the front door', core("import { a } from '../index.ts'"), 'core must not import index.ts'],
  [
    'the library imports itself by name',
    { [`${L}/adapters/http/edge.ts`]: "import { a } from 'floodwall'" },
    'itself by name',
  ],
  ['the cli imports the library', { 'packages/cli/src/main.ts': "import { a } from 'floodwall'" }, undefined],
  [
    'the cli reaches into it',
    { 'packages/cli/src/main.ts': "import { a } from '../../floodwall/src/index.ts'" },
    'another package',
  ],
  ['a new room', { [`${L}/misc/thing.ts`]: '' }, "no room 'misc'"],
  ['a new question', { [`${L}/algorithms/extras/thing.ts`]: '' }, "'extras' is none of the questions"],
  ['an algorithm without a question', { [`${L}/algorithms/thing.ts`]: '' }, 'in the folder of its question'],
  // Cycles.
  [
    'a cycle',
    { [`${L}/core/a.ts`]: "import { b } from './b.ts'", [`${L}/core/b.ts`]: "export * from './a.ts'" },
    'a.ts -> ',
  ],
  [
    'a cycle of types',
    { [`${L}/core/a.ts`]: "import { b } from './b.ts'", [`${L}/core/b.ts`]: "import type { A } from './a.ts'" },
    undefined,
  ],
  [
    'a diamond',
    {
      [`${L}/core/a.ts`]: "import './b.ts'\nimport './c.ts'",
      [`${L}/core/b.ts`]: "import './c.ts'",
      [`${L}/core/c.ts`]: '',
    },
    undefined,
  ],
  // Purity.
  ['async', algorithm('export const f = async () => 1'), 'async has no place'],
  ['an async method', algorithm('export class A { async f() {} }'), 'async has no place'],
  ['Promise as a type', algorithm('export declare const p: Promise<void>'), 'Promise has no place'],
  ['Date', algorithm('export const f = () => new Date(0)'), 'Date has no place'],
  ['performance', algorithm('export const f = () => performance.now()'), 'performance'],
  ['Math.random', algorithm('export const f = () => Math.random()'), 'Math.random has no place'],
  ["Math['pow']", algorithm("export const f = () => Math['pow'](2, 3)"), 'Math.pow has no place'],
  ['Math unpacked', algorithm('const { pow } = Math\nexport const f = () => pow(2, 3)'), 'Math as a value'],
  ['**', algorithm('export const f = (x: number) => x ** 2'), '** has no place'],
  ['**=', algorithm('export const f = (x: number) => { x **= 2 }'), '**= has no place'],
  ['queueMicrotask', algorithm('export const f = () => queueMicrotask(f)'), 'queueMicrotask has no place'],
  [
    'words only',
    algorithm(
      "// async Date\n/** Promise ** */ export const f = (x: { Date: 1 }) => x.Date + Math.exp(1) + 'setTimeout'",
    ),
    undefined,
  ],
  // Clocks.
  ['Date.now', core('export const f = () => Date.now()'), 'call.ts:1 Date.now belongs into core/system.ts'],
  ['performance.now in a pipeline', core('export const f = () => performance.now()'), 'performance belongs'],
  ['setTimeout', core('export const f = () => setTimeout(f, 1)'), 'setTimeout belongs'],
  ['globalThis.setImmediate', core('export const f = () => globalThis.setImmediate(f)'), 'setImmediate belongs'],
  ['today', core('export const f = () => new Date()'), 'the date of today'],
  ['node:timers', core("import { setTimeout as wait } from 'node:timers/promises'"), 'node:timers/promises belongs'],
  ['AbortSignal.timeout', core('export const f = () => AbortSignal.timeout(1)'), 'AbortSignal.timeout belongs'],
  ['a date that was given', core('export const f = (ms: number) => new Date(ms).toISOString()'), undefined],
  ['the system', { [`${L}/core/system.ts`]: 'export const f = () => setTimeout(f, performance.now())' }, undefined],
  // Style.
  ['300 lines', core(lines(300)), undefined],
  ['301 lines', core(lines(301)), '301 lines, 300 at most'],
  ['a test of 400 lines', { 'packages/cli/test/a.test.ts': lines(400) }, undefined],
  ['a test of 401 lines', { 'packages/cli/test/a.test.ts': lines(401) }, '401 lines, 400 at most'],
  ['401 lines of vectors', { 'packages/cli/test/vectors/a.ts': lines(401) }, undefined],
  ['camelCase', { [`${L}/core/myCall.ts`]: '' }, 'is not kebab-case'],
  ['a file of helpers', { [`${L}/core/helpers.ts`]: '' }, 'says nothing of what is in it'],
  ['a manager', core('export class CallManager {}'), "'CallManager' says nothing"],
  ['a helper that is a constant', core('const callHelper = 1'), "'callHelper' says nothing"],
  ['a database is no base', core('export class Database {}'), undefined],
  ['a prefix', core('export interface ICall {}'), "'ICall' wears a prefix"],
  ['export default', core('export default 1'), 'export default'],
  ['export as default', core('const a = 1\nexport { a as default }'), 'call.ts:2 export default'],
  [
    'an index',
    { [`${L}/index.ts`]: "export { a } from './core/call.ts'\nexport type * from './core/gate.ts'" },
    undefined,
  ],
  ['an index with a constant', { [`${L}/rules/index.ts`]: 'export const a = 1' }, 're-exports only'],
  [
    'an index with an import',
    { [`${L}/index.ts`]: "import { a } from './core/call.ts'\nexport { a }" },
    're-exports only',
  ],
]

test.each(CASES)('%s', (_, files, verdict) => {
  const found = violations(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (verdict === undefined) expect(found).toEqual([])
  else expect(found.join('\n')).toContain(verdict)
})

test('a file that cannot be read is named', () => {
  expect(() => violations([{ path: `${L}/core/call.ts`, text: 'export const = 1' }])).toThrow('core/call.ts')
})
