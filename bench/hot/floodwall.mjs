// The library under test: the workspace's own build, or another one (`--floodwall FILE`).
import { pathToFileURL } from 'node:url'

export async function floodwall(file) {
  try {
    return await import(file === undefined ? 'floodwall' : pathToFileURL(file).href)
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    // No stack: it would hide the one line that helps.
    process.stderr.write(`floodwall is not built: run 'npm run build' first\n${error.message}\n`)
    process.exit(1)
  }
}
