import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'
import { type Page, pages, prose, root } from './pages.ts'

// No link of the documents leads nowhere, and no picture lies about unseen.

/** The targets of a page's links and pictures, without those that lead out of the repository. */
function targets(page: Page): string[] {
  return [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
}

/** The anchors that a page offers: its headlines in lower case, blanks as dashes, without punctuation. */
function anchors(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  const headlines = [...prose({ path, text }).matchAll(/^#+ (.+)$/gm)].map(([, words = '']) => words)
  return headlines.map((words) =>
    words
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Why a link leads nowhere; undefined if it does lead somewhere. */
function fault(page: Page, target: string): string | undefined {
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file)
  if (!existsSync(join(root, path))) return `${page.path}: ${target} does not exist`
  if (anchor !== undefined && !anchors(path).includes(anchor)) return `${page.path}: ${path} has no headline #${anchor}`
  return undefined
}

test('every local link resolves', () => {
  const all = pages()
  expect(all.map(({ path }) => path)).toEqual(expect.arrayContaining(['README.md', 'docs/README.md']))
  expect(all.flatMap((page) => targets(page).map((target) => fault(page, target))).filter(Boolean)).toEqual([])
})

test('every page of docs is reached from the index', () => {
  const index = pages().find(({ path }) => path === 'docs/README.md') as Page
  const reached = targets(index)
  const unreached = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && !reached.includes(name))
  expect(unreached).toEqual(['README.md'])
})

test('every picture is shown, and says what it shows', () => {
  const shown = pages().flatMap((page) =>
    [...prose(page).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, words = '', target = '']) => {
      expect(words, `${page.path}: ${target} needs words for those who do not see it`).not.toBe('')
      return posix.join(posix.dirname(page.path), target)
    }),
  )
  const pictures = readdirSync(join(root, 'docs/pictures')).map((name) => `docs/pictures/${name}`)
  expect(pictures.filter((picture) => !shown.includes(picture))).toEqual([])
})

test('a broken link is named', () => {
  const page = {
    path: 'docs/a.md',
    text: '[a](nowhere.md) [b](../README.md#nothing) `[c](code.md)`\n```\n[d](no.md)\n```\n',
  }
  expect(targets(page).map((target) => fault(page, target))).toEqual([
    'docs/a.md: nowhere.md does not exist',
    'docs/a.md: README.md has no headline #nothing',
    'docs/a.md: code.md does not exist',
  ])
})
