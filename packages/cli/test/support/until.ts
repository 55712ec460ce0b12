import { setTimeout as pause } from 'node:timers/promises'

/** Waits until `check` neither throws nor answers false; after `withinMs` it fails with what the last check said. */
export async function until(
  check: () => boolean | void | Promise<boolean | void>,
  withinMs: number = 10_000,
): Promise<void> {
  const end = Date.now() + withinMs
  for (;;) {
    let why: unknown
    try {
      if ((await check()) !== false) return
      why = new Error(`not within ${withinMs} ms: ${check.toString()}`)
    } catch (error) {
      why = error
    }
    if (Date.now() > end) throw why
    await pause(10)
  }
}
