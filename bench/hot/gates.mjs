// Five gates as users write them, each a class of its own: with the library's own they make the shared loops see many
// kinds. `Permit` and `Rejection` are the library's.

export function strangers({ Permit, Rejection }) {
  class Tally {
    kind = 'tally'
    holds = true
    used = 0
    constructor(path) {
      this.path = path
    }
    tryAcquire() {
      if (this.used >= 1000) return new Rejection(this, 'full', 0, this.used, 1000)
      this.used++
      return new Permit(this, 0)
    }
    settled() {
      this.used--
    }
    cancelled() {
      this.used--
    }
    inspect() {
      return { kind: 'tally', used: this.used }
    }
  }

  class Sieve {
    kind = 'sieve'
    asked = 0
    constructor(path) {
      this.path = path
    }
    tryAcquire() {
      this.asked++
      return this.asked % 3 === 0 ? new Rejection(this, 'rate', 5, this.asked, 3) : new Permit(this, this.asked, 1)
    }
    settled() {}
    cancelled() {
      this.asked--
    }
    inspect() {
      return { kind: 'sieve', asked: this.asked }
    }
  }

  class Mean {
    kind = 'mean'
    timed = true
    meanMs = 0
    worst = 'success'
    constructor(path) {
      this.path = path
    }
    tryAcquire(ask) {
      return new Permit(this, ask.now)
    }
    settled(_permit, verdict, tookMs) {
      this.meanMs += (tookMs - this.meanMs) / 10
      if (verdict === 'failure') this.worst = verdict
    }
    cancelled() {}
    inspect() {
      return { kind: 'mean', meanMs: this.meanMs }
    }
  }

  class Level {
    kind = 'level'
    passed = { critical: 0, other: 0 }
    constructor(path) {
      this.path = path
    }
    tryAcquire(ask) {
      this.passed[ask.criticality === 'critical' ? 'critical' : 'other']++
      return new Permit(this, 0, ask.cost)
    }
    settled() {}
    cancelled(permit) {
      this.passed.other -= permit.tag
    }
    inspect() {
      return { kind: 'level', ...this.passed }
    }
  }

  class Ledger {
    kind = 'ledger'
    holds = true
    timed = true
    entries = new Map()
    constructor(path) {
      this.path = path
    }
    tryAcquire(ask) {
      this.entries.set(ask.key, ask.now)
      return new Permit(this, this.entries.size)
    }
    settled(_permit, verdict, tookMs, now) {
      this.entries.set(verdict, now - tookMs)
    }
    cancelled() {}
    inspect() {
      return { kind: 'ledger', entries: this.entries.size }
    }
  }

  return [Tally, Sieve, Mean, Level, Ledger].map((Kind) => ({
    kind: Kind.name.toLowerCase(),
    options: {},
    build: (env) => new Kind(env.path),
  }))
}
