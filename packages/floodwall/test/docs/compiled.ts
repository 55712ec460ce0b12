import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { place, type Snippet } from './snippets.ts'

const RUN_MS = 30_000

/**
 * Snippets, compiled in one go as a user would with a strict configuration. They lie in node_modules/.cache, from where `floodwall`
 * means this repository: its sources to the compiler, its build to Node.
 */
export class Compiled implements Disposable {
  readonly #root: string
  readonly #folder: string
  readonly #output: string

  constructor(root: string, snippets: readonly Snippet[]) {
    this.#root = root
    mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
    this.#folder = mkdtempSync(join(root, 'node_modules/.cache/docs-'))
    for (const snippet of snippets) {
      // Blank lines before it, so that the compiler and the stack traces count the lines of the document.
      writeFileSync(join(this.#folder, fileOf(snippet)), '\n'.repeat(snippet.line - 1) + snippet.code)
    }
    const compilerOptions = {
      ...{ rootDir: root, outDir: join(this.#folder, 'out'), customConditions: ['floodwall-source'] },
      ...{
        composite: false,
        declaration: false,
        declarationMap: false,

        stripInternal: false,
      },
      // A text may show a result that it does not use, and every snippet has its names to itself.
      ...{ noUnusedLocals: false, noUnusedParameters: false, moduleDetection: 'force' },
    }
    const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, files: snippets.map(fileOf) }
    writeFileSync(join(this.#folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], {
      cwd: this.#folder,
      encoding: 'utf8',
    })
    this.#output = stdout
    if (status !== 0 && !existsSync(join(this.#folder, 'out')))
      throw new Error(`the snippets could not be compiled:\n${stdout}`)
  }

  /** What the compiler says of a snippet, with the lines of the document; '' if nothing. */
  errorsOf(snippet: Snippet): string {
    const messages = this.#output.split(/\r?\n(?=\S)/).filter((message) => message.startsWith(`${fileOf(snippet)}(`))
    return messages.map((message) => message.replace(/^[^(]*\((\d+),(\d+)\)/, `${snippet.file}:$1:$2`)).join('\n')
  }

  /** Runs a snippet in a process and a folder of its own; answers with what went wrong, '' if nothing did. */
  run(snippet: Snippet, timeout = RUN_MS): Promise<string> {
    const script = join(
      this.#folder,
      'out',
      relative(this.#root, this.#folder),
      fileOf(snippet).replace(/\.mts$/, '.mjs'),
    )
    const cwd = mkdtempSync(join(tmpdir(), 'floodwall-docs-'))
    // A user's process knows nothing of the test runner.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(?:VITEST|NODE_ENV|TEST$|DEV$|PROD$)/.test(name)),
    )
    const options = { cwd, env, timeout, killSignal: 'SIGKILL' } as const
    return new Promise((resolve) => {
      execFile(process.execPath, ['--enable-source-maps', script], options, (error, _, stderr) => {
        rmSync(cwd, { recursive: true, force: true })
        if (error === null) resolve('')
        else if (error.killed)
          resolve(
            `${place(snippet)} did not end within ${timeout / 1000} s: it leaves something open, or is a 'ts no-run'`,
          )
        else resolve(`${place(snippet)} failed:\n${this.#named(snippet, stderr)}`)
      })
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Stack traces with the document in place of the temporary file. */
  #named(snippet: Snippet, text: string): string {
    return text.replace(new RegExp(`[^\\s(]*/${fileOf(snippet)}:`, 'g'), `${snippet.file}:`)
  }
}

function fileOf({ file, line }: Snippet): string {
  return `${file.replaceAll(/[^a-zA-Z0-9]+/g, '-')}-${line}.mts`
}
