import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surface } from './api/surface.ts'

// The public interface, entry by entry, as text that a review can read. A change that was meant: run UPDATE and commit the result.
const UPDATE = 'UPDATE_API=1 npx vitest run packages/floodwall/test/api-surface.test.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const library = join(root, 'packages/floodwall')
const goldens = join(library, 'test/api')

interface Entry {
  /** How a user writes it: floodwall/rules. */
  readonly name: string
  /** Its source, from the package's folder on: ./src/rules/index.ts. */
  readonly source: string
  readonly golden: string
}

function entries(): Entry[] {
  const { exports } = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>
  }
  return Object.entries(exports).flatMap(([path, target]) => {
    const source = (target as Record<string, string>)['floodwall-source']
    if (source === undefined) return []
    const name = path.replace(/^\.\/?/, '')
    return [
      {
        name: name === '' ? 'floodwall' : `floodwall/${name}`,
        source,
        golden: `${(name || 'index').replaceAll('/', '-')}.d.ts.txt`,
      },
    ]
  })
}

describe('the public interface', () => {
  let folder = ''
  let complaints = ''

  beforeAll(() => {
    // Inside of node_modules, so that the compiler finds the types of Node and of the dependencies from here.
    mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
    folder = mkdtempSync(join(root, 'node_modules/.cache/api-'))
    const compilerOptions = {
      ...{ rootDir: join(library, 'src'), outDir: join(folder, 'types') },
      ...{
        emitDeclarationOnly: true,
        composite: false,
        declarationMap: false,
        sourceMap: false,
        tsBuildInfoFile: null,
      },
    }
    const config = { extends: join(library, 'tsconfig.json'), compilerOptions, include: [join(library, 'src')] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    // Errors do not stop it: the declarations are there all the same, and a type error has its own check.
    const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
      encoding: 'utf8',
    })
    complaints = stdout
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each(entries())('$name', ({ name, source, golden }) => {
    expect(existsSync(join(library, source)), `package.json exports ${name}, but ${source} does not exist`).toBe(true)
    const declarations = join(folder, 'types', source.replace(/^\.\/src\//, '').replace(/\.ts$/, '.d.ts'))
    expect(existsSync(declarations), `the compiler wrote no declarations for ${source}:\n${complaints}`).toBe(true)

    const text = surface(declarations.replaceAll('\\', '/'), (file) => readFileSync(file, 'utf8'))
    const file = join(goldens, golden)
    if (process.env.UPDATE_API === '1') writeFileSync(file, text)
    const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
    expect(text, `the interface of ${name} is not what test/api/${golden} says; if it was meant:\n  ${UPDATE}\n`).toBe(
      before,
    )
  })

  test('no entry was forgotten', () => {
    const known = new Set(entries().map(({ golden }) => golden))
    const left = readdirSync(goldens).filter((name) => name.endsWith('.txt') && !known.has(name))
    expect(left, 'goldens of entries that are gone').toEqual([])
  })
})

describe('surface', () => {
  const of = (files: Record<string, string>) =>
    surface('/index.d.ts', (file) => files[file] ?? expect.fail(`${file} was asked for`))

  test('follows re-exports, sorts by name, drops comments', () => {
    const files = {
      '/index.d.ts': "export { b, a as renamed } from './core/a.ts';\nexport type * from './types.ts';",
      '/core/a.d.ts':
        '/** Doc. */\nexport declare const a: 1;\n// why\nexport declare function b(x: number /* ms */): void;\nexport declare const c: 3;',
      '/types.d.ts':
        "import { D } from './core/d.ts';\nexport interface T {\n    /** Doc. */\n    x: D;\n}\nexport { D as E };",
      '/core/d.d.ts': 'export declare class D {\n}',
    }
    expect(of(files)).toBe(
      [
        '// as E\nexport declare class D {\n}',
        'export interface T {\n    x: D;\n}',
        'export declare function b(x: number ): void;',
        '// as renamed\nexport declare const a: 1;',
      ].join('\n\n') + '\n',
    )
  })

  test('leaves out what is private, but for the constructor', () => {
    const members = 'private a;\n #private;\n private get b();\n private constructor();\n protected c: 1;\n d(): void;'
    const left = 'private constructor();\n protected c: 1;\n d(): void;'
    expect(of({ '/index.d.ts': `export declare class A {\n ${members}\n}` })).toBe(
      `export declare class A {\n ${left}\n}\n`,
    )
  })

  test('keeps overloads and merged declarations together', () => {
    const text = 'export declare function f(x: 1): 1;\nexport declare function f(x: 2): 2;\nexport interface f {\n}'
    expect(of({ '/index.d.ts': text })).toBe(`${text}\n`)
  })

  test('names what comes from a package, and what is declared nowhere', () => {
    const files = {
      '/index.d.ts': "export { x } from 'valibot';\nexport { y } from './a.ts';",
      '/a.d.ts': 'export {};',
    }
    expect(of(files)).toBe("export { x } from 'valibot';\n\n// as y\n// declared nowhere\n")
  })

  test('an own name hides that of a star; a namespace prints all it holds', () => {
    const files = {
      '/index.d.ts': "export * from './a.ts';\nexport declare const x: 2;\nexport * as ns from './a.ts';",
      '/a.d.ts': 'export declare const x: 1;',
    }
    expect(of(files)).toBe('// as ns\nexport declare const x: 1;\n\nexport declare const x: 2;\n')
  })
})
