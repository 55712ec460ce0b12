// The server under test gets a core of its own, load and origin share another: the scheduler then cannot favour a row.
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const pinned = availableParallelism() >= 2 && spawnSync('taskset', ['-c', '0', 'true']).status === 0

/** Command and arguments of `node ...args` on a core; as it is where cores cannot be chosen. */
export const onCore = (core, node, args) => (pinned ? ['taskset', ['-c', String(core), node, ...args]] : [node, args])
