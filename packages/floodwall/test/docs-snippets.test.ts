import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Compiled } from './docs/compiled.ts'
import { differences, place, type Snippet, snippetsIn } from './docs/snippets.ts'

// Every TypeScript fence of the documents compiles and runs as it stands.

const root = fileURLToPath(new URL('../../..', import.meta.url))

function documents(): string[] {
  const docs = existsSync(join(root, 'docs'))
    ? readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    : []
  return [
    ...['README.md', 'README.zh-CN.md'],
    ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name.replaceAll('\\', '/')}`),
    ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`),
  ].filter((name) => existsSync(join(root, name)))
}

const snippetsOf = (file: string) =>
  existsSync(join(root, file)) ? snippetsIn(file, readFileSync(join(root, file), 'utf8')) : []

const snippets = documents().flatMap(snippetsOf)

test('the documents were read', () => {
  console.log(`${snippets.length} snippets in ${documents().length} documents`)
})

test('both READMEs show the same code', () => {
  if (!existsSync(join(root, 'README.md')) || !existsSync(join(root, 'README.zh-CN.md'))) return
  expect(differences(snippetsOf('README.md'), snippetsOf('README.zh-CN.md'))).toEqual([])
})

if (snippets.length > 0) {
  describe('snippet', () => {
    let compiled: Compiled

    beforeAll(() => {
      const build = join(root, 'packages/floodwall/dist/index.js')
      if (!existsSync(build)) throw new Error('the snippets run on the build, and there is none: npm run build')
      compiled = new Compiled(root, snippets)
    })
    afterAll(() => compiled?.[Symbol.dispose]())

    test.concurrent.each(snippets.map((snippet) => [place(snippet), snippet] as const))('%s', async (_, snippet) => {
      expect(compiled.errorsOf(snippet)).toBe('')
      if (snippet.runs) expect(await compiled.run(snippet)).toBe('')
    })
  })
}

describe('the extraction', () => {
  const fence = (code: string, info = 'ts') => `Text.\n\n\`\`\`${info}\n${code}\n\`\`\`\n`

  test('finds the ts fences and their lines', () => {
    const text = `${fence('a')}${fence('b', 'sh')}${fence('c\n\nd', 'ts no-run')}- item\n\n  \`\`\`ts\n  e\n    f\n  \`\`\`\n`
    expect(snippetsIn('a.md', text)).toEqual([
      { file: 'a.md', line: 4, code: 'a', runs: true },
      { file: 'a.md', line: 14, code: 'c\n\nd', runs: false },
      { file: 'a.md', line: 21, code: 'e\n  f', runs: true },
    ])
  })

  test('leaves a fence inside of a fence alone', () => {
    expect(snippetsIn('a.md', '````md\n```ts\na\n```\n````\n')).toEqual([])
  })

  test('refuses what it does not know', () => {
    expect(() => snippetsIn('a.md', fence('a', 'ts norun'))).toThrow("a.md:3 a ts fence may say 'no-run', not 'norun'")
    expect(() => snippetsIn('a.md', 'x\n```ts\na')).toThrow('a.md:2 the fence is not closed')
  })

  test('compares translations by their code', () => {
    const of = (file: string, ...codes: string[]) => snippetsIn(file, codes.map((code) => fence(code)).join(''))
    const english = of('a.md', "// Counts.\nconst a = 1 // one\nf('x')", 'g()')
    expect(differences(english, of('b.md', "// 计数。\nconst a = 1 // 一\nf('x')", 'g()'))).toEqual([])
    expect(differences(english, of('b.md', "const a = 1\nf('y')"))).toEqual([
      'a.md:4 and b.md:4 differ',
      'a.md:11 has no counterpart',
    ])
    expect(differences(of('a.md', 'f()'), snippetsIn('b.md', fence('f()', 'ts no-run')))).toEqual([
      'a.md:4 and b.md:4: only one of them runs',
    ])
  })
})

test('a failing snippet is named by document and line', async () => {
  const bad = (line: number, code: string): Snippet => ({ file: 'docs/a.md', line, code, runs: true })
  const fine = bad(5, "import { basename } from 'node:path'\nconst unused = await Promise.resolve(basename('a/b'))")
  const wrong = bad(10, 'const n: number = 1\nconst s: string = n')
  const throws = bad(20, 'type A = 1\nthrow new Error(`no ${1 satisfies A}`)')
  const endless = bad(30, 'setInterval(() => {}, 1000)')
  using compiled = new Compiled(root, [fine, wrong, throws, endless])

  expect(compiled.errorsOf(fine)).toBe('')
  expect(await compiled.run(fine)).toBe('')
  expect(compiled.errorsOf(wrong)).toMatch(/^docs\/a\.md:11:7: error TS2322/)
  expect(compiled.errorsOf(throws)).toBe('')
  expect(await compiled.run(throws)).toMatch(/docs\/a\.md:21[^]*Error: no 1/)
  expect(await compiled.run(endless, 500)).toContain('docs/a.md:30 did not end within 0.5 s')
})
