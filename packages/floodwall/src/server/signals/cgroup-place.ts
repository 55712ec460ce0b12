import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// In which folders does the kernel keep the books of our control group?
//
// /proc/self/cgroup names the group within a hierarchy, /proc/self/mountinfo where the hierarchy can be seen. Version 2 is one hierarchy for
// all (`0::/path`), version 1 has one for each controller, and both may be there at once. A container may see the whole tree, a part of it,
// or only its own group as the root; and a path of the host, where it has no meaning. What cannot be found is not there.
//
// Source: cgroups(7), cgroup_namespaces(7), proc_pid_mountinfo(5).

/** Where one controller keeps its files: the own group first, then those around it, as far as they can be seen. */
export interface Place {
  readonly version: 1 | 2
  readonly folders: readonly string[]
}

interface Mount {
  readonly version: 1 | 2
  /** What of the hierarchy is mounted. */
  readonly root: string
  readonly point: string
  readonly controllers: readonly string[]
}

/** The place of `controller` (`cpu`, `cpuacct`, `memory`); of version 2 alone with `'unified'`. Undefined: none. */
export function placeOf(root: string, controller: string): Place | undefined {
  const groups = textOf(join(root, 'proc/self/cgroup'))
  const mounts = textOf(join(root, 'proc/self/mountinfo')).split('\n').flatMap(mountOf)
  let unified: string | undefined
  for (const line of groups.split('\n')) {
    const [id, controllers = '', ...path] = line.split(':')
    if (id === '0' && controllers === '') unified = path.join(':')
    else if (controllers.split(',').includes(controller)) {
      const mount = mounts.find((one) => one.version === 1 && one.controllers.includes(controller))
      if (mount !== undefined) return { version: 1, folders: foldersOf(root, mount, path.join(':')) }
    }
  }
  const mount = mounts.find(({ version }) => version === 2)
  if (mount === undefined || unified === undefined) return undefined
  return { version: 2, folders: foldersOf(root, mount, unified) }
}

function foldersOf(root: string, { root: seen, point }: Mount, group: string): string[] {
  const inside = seen === '/' ? group : within(group, seen)
  // `/../..` is a group outside of our namespace.
  const steps = inside.split('/').filter((step) => step !== '')
  const known = steps.includes('..') ? [] : steps
  const top = join(root, point)
  // The host's path of a container that sees only its own group: what it sees is that group.
  const shown = existsSync(join(top, ...known)) ? known : []
  return Array.from({ length: shown.length + 1 }, (_, up) => join(top, ...shown.slice(0, shown.length - up)))
}

/** `group` as seen from `seen`; the group itself, where it is not in there. */
function within(group: string, seen: string): string {
  return group.startsWith(`${seen}/`) ? group.slice(seen.length) : '/'
}

/** `31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu` */
function mountOf(line: string): Mount[] {
  const [left = '', right = ''] = line.split(' - ')
  const [, , , root, point] = left.split(' ')
  const [type, , options = ''] = right.split(' ')
  if (root === undefined || point === undefined) return []
  const at = { root: unescaped(root), point: unescaped(point), controllers: options.split(',') }
  if (type === 'cgroup2') return [{ ...at, version: 2 }]
  return type === 'cgroup' ? [{ ...at, version: 1 }] : []
}

/** Blanks in a path are written as `\040`. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
