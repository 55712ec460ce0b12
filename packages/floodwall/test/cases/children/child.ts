import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a script printed as its last line, as JSON; it runs on the built package, as users have it, and must end by itself. */
export function child(script: string, args: readonly string[] = [], flags: readonly string[] = []): Promise<unknown> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  return new Promise((resolve, reject) => {
    // Killed after 110 s (beside other work it may take ten times as long as alone): a script that does not end by itself fails here, whatever it printed.
    execFile(
      process.execPath,
      [...flags, path, ...args],
      { timeout: 110_000, encoding: 'utf8' },
      (error, stdout, stderr) => {
        if (error !== null)
          return reject(
            new Error(`${script} ${args.join(' ')} did not end well:\n${stdout}${stderr}`, { cause: error }),
          )
        if (stderr !== '') return reject(new Error(`${script} ${args.join(' ')} complained:\n${stderr}`))
        resolve(JSON.parse(stdout.trim().split('\n').at(-1) ?? 'null'))
      },
    )
  })
}
