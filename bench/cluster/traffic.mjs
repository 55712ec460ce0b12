// Calls at random times (a Poisson process), since evenly spaced ones fall into step with round robin and with
// windows.

export function flow(world, random, { perSecond, until }, call) {
  const next = () => {
    const wait = (-Math.log(1 - random()) * 1000) / perSecond
    if (world.now() + wait >= until) return
    world.after(wait, () => {
      next()
      call()
    })
  }
  next()
}
