import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtIn } from 'floodwall/rules'
import { expect, test } from 'vitest'
import { page, root } from './pages.ts'

// What the pages say of the house is the house: its rooms, its dependencies, its kinds.

const { text } = page('ARCHITECTURE.md')
const source = join(root, 'packages/floodwall/src')

const folders = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

test('every room of the library has a line', () => {
  const rooms = [...folders(source), ...folders(join(source, 'algorithms'))]
  expect(rooms.filter((room) => !text.includes(`\`${room}/\``))).toEqual([])
})

test('no room is invented', () => {
  const [, rooms = ''] = text.split('## Rooms and rings')
  const named = [...(rooms.split('\n\nBeside')[0] ?? '').matchAll(/`(\w+)\/`/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(5)
  const there = [...folders(source), ...folders(join(source, 'algorithms'))]
  expect(named.filter((name) => !there.includes(name as string))).toEqual([])
})

test('every dependency has a line', () => {
  const packages = [
    'package.json',
    'packages/floodwall/package.json',
    'packages/cli/package.json',
    'bench/package.json',
  ]
  const names = packages.flatMap((file) => {
    const read = JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<
      string,
      Record<string, string> | undefined
    >
    return [...Object.keys(read['dependencies'] ?? {}), ...Object.keys(read['devDependencies'] ?? {})]
  })
  const [, table = ''] = text.split('## Dependencies')
  const listed = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    cell.replace(/ \d+$/, '').split(', '),
  )
  const ours = names.filter((name) => name !== 'floodwall')
  expect(ours.filter((name) => !listed.includes(name))).toEqual([])
})

test('the page on rules names the kinds that documents may use', () => {
  const [, named = ''] = /documents may name: ([^.]+)\./.exec(page('docs/rules.md').text) ?? []
  expect(named.match(/\w+/g)?.sort()).toEqual([...builtIn.keys()].sort())
})

test('both READMEs name every door of the library', () => {
  const { exports } = JSON.parse(page('packages/floodwall/package.json').text) as { exports: Record<string, unknown> }
  const doors = Object.keys(exports).filter((door) => door !== './package.json')
  for (const readme of ['README.md', 'README.zh-CN.md']) {
    const names = doors.map((door) => door.replace('.', 'floodwall'))
    expect(names.filter((name) => !page(readme).text.includes(name))).toEqual([])
  }
})
