import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformWithOxc } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pages, root } from './pages.ts'
import { place, snippetsIn } from './snippets.ts'

// What a snippet says that it prints (`// → text`), it prints: those lines, in that order, perhaps with others between them. Where the text
// has an ellipsis, anything may stand.

const ARROW = /\/\/ → (.*)$/m

const expectedOf = (code: string): string[] => code.split('\n').flatMap((line) => ARROW.exec(line)?.[1] ?? [])

const snippets = pages()
  .flatMap(({ path, text }) => snippetsIn(path, text))
  .filter(({ code, runs }) => runs && ARROW.test(code))

/** The first of the expected lines that was not printed; undefined if all were. */
function missing(expected: readonly string[], printed: readonly string[]): string | undefined {
  let at = 0
  return expected.find((wanted) => {
    const pattern = new RegExp(`^${wanted.split('…').map(literally).join('.*')}$`)
    const found = printed.slice(at).findIndex((line) => pattern.test(line.trimEnd()))
    at += found + 1
    return found < 0
  })
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

describe('snippet', () => {
  let folder: string
  beforeAll(() => {
    mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
    // From here `floodwall` means the build of this repository.
    folder = mkdtempSync(join(root, 'node_modules/.cache/output-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.concurrent.each(snippets.map((snippet) => [place(snippet), snippet] as const))('%s', async (name, snippet) => {
    const script = join(folder, `${name.replace(/\W+/g, '-')}.mjs`)
    writeFileSync(script, (await transformWithOxc(snippet.code, 'snippet.ts', { target: 'es2022' })).code)
    const printed = await new Promise<string>((resolve, reject) => {
      const env = { ...process.env, NODE_ENV: '', VITEST: '' }
      execFile(process.execPath, [script], { env, timeout: 100_000 }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      )
    })
    expect(missing(expectedOf(snippet.code), printed.split('\n')), printed).toBeUndefined()
  })
})

test('what was not printed is named', () => {
  const expected = expectedOf("f() // → a\n// → b … c\n//   → no\ng('// x') // → d")
  expect(expected).toEqual(['a', 'b … c', 'd'])
  expect(missing(expected, ['', 'a', 'x', 'b 1 c', 'd'])).toBeUndefined()
  expect(missing(expected, ['a', 'd', 'b 1 c'])).toBe('d')
  expect(missing(['a.c'], ['abc'])).toBe('a.c')
})
