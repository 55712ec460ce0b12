// Microtask turns until a call settles: an exact number, the same on every machine.

const MOST = 10_000

export async function turnsOf(call) {
  let turns = 0
  let settled = false
  const end = Promise.resolve(call()).then(
    () => {
      settled = true
    },
    () => {
      settled = true
    },
  )
  const step = () => {
    if (settled || turns === MOST) return
    turns++
    queueMicrotask(step)
  }
  queueMicrotask(step)
  await end
  return turns
}
