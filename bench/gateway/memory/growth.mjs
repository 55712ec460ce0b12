// Resident memory of a process: what of it lies in RAM. Buffers of the kernel, such as those of sockets, are not in it.
import { readFileSync } from 'node:fs'

const EVERY_MS = 20

export const residentBytes = (pid) => residentIn(readFileSync(`/proc/${pid}/status`, 'latin1'))

/** What a text such as /proc/PID/status says of it. */
export function residentIn(text) {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(text)
  if (kilobytes === null) throw new Error('the process has ended')
  return Number(kilobytes[1]) * 1024
}

/** How far it rose while `work` ran, at the highest. Sampled: the kernel's own mark remembers the time before, too. */
export async function growthOf(pid, work, look = residentBytes) {
  const beforeBytes = look(pid)
  let highest = beforeBytes
  const timer = setInterval(() => {
    try {
      highest = Math.max(highest, look(pid))
    } catch {
      clearInterval(timer) // it has ended: the work is going to fail, and knows better why
    }
  }, EVERY_MS)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return { beforeBytes, growthBytes: Math.max(highest, look(pid)) - beforeBytes }
}
