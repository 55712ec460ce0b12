import type { destination } from 'pino'

type Stream = ReturnType<typeof destination>

/**
 * Ends a log, and waits for so long at most until its last line is out. What is left then is lost: at the exit of the process it would be
 * written again and again until that succeeds, and a disk that is full, or a reader that hangs, would keep the process for ever.
 */
export async function lastLines(stream: Stream, withinMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, withinMs)
    stream.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    stream.end()
  })
  stream.destroy()
}
