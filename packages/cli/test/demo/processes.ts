import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

// Who is alive, and whose child is it?

/** Parents by process. One that has ended and was not yet asked for its exit code is not alive. */
function alive(): Map<number, number> {
  return new Map(process.platform === 'linux' ? fromProc() : fromPs())
}

/** Small images have no `ps`. */
function* fromProc(): Generator<[pid: number, parent: number]> {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let stat: string
    try {
      stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    } catch {
      continue
    }
    // The second field is a name in parentheses, which may contain anything.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state !== 'Z' && state !== 'X') yield [Number(pid), Number(parent)]
  }
}

function* fromPs(): Generator<[pid: number, parent: number]> {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
  for (const line of stdout.split('\n').filter((text) => text.trim() !== '')) {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    if (!state.startsWith('Z')) yield [Number(pid), Number(parent)]
  }
}

/** Children and children of children. */
export function descendants(of: number): number[] {
  const parents = alive()
  const children = [...parents].filter(([, parent]) => parent === of).map(([pid]) => pid)
  return children.flatMap((pid) => [pid, ...descendants(pid)])
}

/** Those who are still there, after up to `withinMs` to leave. */
export async function remaining(pids: readonly number[], withinMs: number): Promise<number[]> {
  const until = performance.now() + withinMs
  for (;;) {
    const present = alive()
    const left = pids.filter((pid) => present.has(pid))
    if (left.length === 0 || performance.now() > until) return left
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
