// A gate of your own: at most one call per gap. The contract says whether it keeps what every gate promises.
import { envOf, gate, Permit, pipeline, Rejection, systemRuntime } from 'floodwall'
import { gateContract } from 'floodwall/testing'

class Spacing {
  kind = 'spacing'
  next = Number.NEGATIVE_INFINITY
  serial = 0

  constructor(gapMs, env = envOf(systemRuntime, 'spacing')) {
    this.gapMs = gapMs
    this.path = env.path
  }

  tryAcquire({ now }) {
    if (now < this.next) return new Rejection(this, 'rate', this.next - now, this.next - now, this.gapMs)
    this.next = now + this.gapMs
    return new Permit(this, ++this.serial)
  }

  settled() {}

  // Nothing ran: the place is free again, unless somebody came after.
  cancelled(permit) {
    if (permit.generation === this.serial) this.next = Number.NEGATIVE_INFINITY
  }

  explain(rejection) {
    return `${Math.ceil(rejection.value)} of ${rejection.limit} ms are left`
  }

  inspect(now) {
    return { kind: this.kind, path: this.path, leftMs: Math.max(0, Number.isFinite(this.next) ? this.next - now : 0) }
  }
}

for (const check of gateContract((env) => new Spacing(100, env))) {
  check.run()
  console.log(`ok  ${check.name}`)
}

const lamp = pipeline('lamp', [gate(new Spacing(400))])
for (let i = 0; i < 3; i++) {
  const outcome = await lamp.outcome(() => 'blink')
  console.log(outcome.ok ? outcome.value : outcome.rejection.why)
  await new Promise((resolve) => setTimeout(resolve, 250))
}
