// Reads a stream no faster than so many bytes a second. The rest waits in the kernel, and then in whoever sends.

const SHORTEST_WAIT_MS = 10

/** `took` hears of every chunk. */
export function readSlowly(stream, bytesPerSecond, took) {
  const start = performance.now()
  let bytes = 0
  stream.on('data', (chunk) => {
    bytes += chunk.length
    took(chunk)
    const aheadMs = (bytes / bytesPerSecond) * 1000 - (performance.now() - start)
    if (aheadMs < SHORTEST_WAIT_MS) return
    stream.pause()
    setTimeout(() => stream.resume(), aheadMs)
  })
}
