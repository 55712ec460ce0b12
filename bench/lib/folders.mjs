// Folders for what the servers under test write. They go when this process ends, however it ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'floodwall-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
