// CPU time of a process, all of its threads: what the kernel charged, whatever else ran on the machine.
import { readdirSync, readFileSync } from 'node:fs'

export function assertLinux(suite, platform = process.platform) {
  if (platform !== 'linux') throw new Error(`the suite ${suite} reads /proc and needs Linux; this is ${platform}`)
}

/** In nanoseconds and not in ticks of 10 ms, so that rounds may be short. A thread that has ended is not counted; Node's live as long as it does. */
export function cpuSeconds(pid) {
  let ns = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) ns += spentBy(pid, thread)
  return ns / 1e9
}

function spentBy(pid, thread) {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0])
}
