// Other libraries read the real clock and set real timers. Here they read and set those of a virtual world: the
// globals are replaced for the whole process, which does nothing else. What they schedule runs in order, each at
// its time, and between two timers all promise reactions run (`advanceAsync` of the world), as they would in
// reality.

const real = { now: Date.now, precise: performance.now, setTimeout, setInterval, clearTimeout, clearInterval }

/** What Node's timers can do beyond being cleared. */
class Timer {
  constructor(world, ms, fn, every) {
    this.world = world
    this.start(ms, fn, every)
  }

  start(ms, fn, every) {
    this.cancel = this.world.after(ms, () => {
      if (every) this.start(ms, fn, every)
      fn()
    })
  }

  ref() {
    return this
  }

  unref() {
    return this
  }

  hasRef() {
    return false
  }
}

export function replaceClock(world) {
  Date.now = () => world.now()
  performance.now = () => world.now()
  globalThis.setTimeout = /** @type {any} */ ((fn, ms = 1, ...args) => new Timer(world, ms, () => fn(...args), false))
  globalThis.setInterval = /** @type {any} */ ((fn, ms = 1, ...args) => new Timer(world, ms, () => fn(...args), true))
  globalThis.clearTimeout = /** @type {any} */ ((timer) => timer?.cancel())
  globalThis.clearInterval = globalThis.clearTimeout
  return restoreClock
}

function restoreClock() {
  Date.now = real.now
  performance.now = real.precise
  globalThis.setTimeout = real.setTimeout
  globalThis.setInterval = real.setInterval
  globalThis.clearTimeout = real.clearTimeout
  globalThis.clearInterval = real.clearInterval
}
