// CPU time of a process, all of its threads: what the kernel charged, whatever else ran on the machine.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

let ticksPerSecond

export function assertLinux(suite, platform = process.platform) {
  if (platform !== 'linux') throw new Error(`the suite ${suite} reads /proc and needs Linux; this is ${platform}`)
}

export function cpuSeconds(pid) {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The second field is the name in brackets and may contain anything; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
