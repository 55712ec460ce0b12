import type { Ask, Gate, Permit, Rejection } from '../core/gate.ts'
import type { Verdict } from '../core/outcome.ts'
import type { Env } from '../core/runtime.ts'
import { seeded } from './random.ts'
import { VirtualRuntime } from './virtual-runtime.ts'

/** One promise that every gate keeps. `run` throws when this one does not. */
export interface Check {
  readonly name: string
  run(): void
}

/** No gate here lends more than this at once; an unlimited one is simply not exhausted. */
const MOST = 1000

const DAY_MS = 86_400_000

/**
 * The promises that every gate keeps, for your runner: `for (const check of gateContract(make)) test(check.name, check.run)`.
 * `make` builds a fresh gate that can pass at least one call.
 */
export function gateContract(make: (env: Env) => Gate): Check[] {
  const check = (name: string, body: (gate: Gate, world: VirtualRuntime) => void): Check => ({
    name,
    run() {
      const world = new VirtualRuntime({ seed: 7, startAt: 1_000_000 })
      body(make(world.env()), world)
    },
  })
  return [
    check('a permit ends once: settling or cancelling it again changes nothing', (gate, world) => {
      const permit = acquired(gate, world)
      permit.settle('success', 1, world.now())
      const before = JSON.stringify(gate.inspect(world.now()))
      permit.settle('failure', 1, world.now())
      permit.cancel(world.now())
      same(JSON.stringify(gate.inspect(world.now())), before, 'inspect() after the second end')
    }),
    check('a refusal takes nothing, and explains itself', (gate, world) => {
      const held = exhaust(gate, world)
      for (let i = 0; i < 10; i++) {
        const answer = gate.tryAcquire(askAt(world))
        if (!answer.ok) explains(answer, gate)
        else if (held.length < MOST) throw new Error('a gate that had refused admitted without anything coming back')
        else answer.cancel(world.now())
      }
      for (const permit of held) permit.cancel(world.now())
      same(exhaust(gate, world).length, held.length, 'permits after ten refusals')
    }),
    check('what is cancelled comes back', (gate, world) => {
      const first = exhaust(gate, world)
      for (const permit of first) permit.cancel(world.now())
      same(exhaust(gate, world).length, first.length, 'permits after all were cancelled')
    }),
    check('it admits again after a day, whatever happened', (gate, world) => {
      for (const verdict of VERDICTS) {
        for (const permit of exhaust(gate, world)) permit.settle(verdict, 5, world.now())
      }
      world.advance(DAY_MS)
      acquired(gate, world).cancel(world.now())
    }),
    check('permits that nobody ends do not stop it for ever, unless it counts occupancy', (gate, world) => {
      if (gate.holds === true) return
      exhaust(gate, world)
      world.advance(DAY_MS)
      acquired(gate, world)
    }),
    check('inspect() is JSON-safe, with finite numbers', (gate, world) => {
      const permits = exhaust(gate, world)
      isFinite(gate.inspect(world.now()), gate.kind)
      for (const permit of permits) permit.settle('failure', 5, world.now())
      isFinite(gate.inspect(world.now()), gate.kind)
    }),
    check('onFree wakes when capacity comes back, and not after it was stopped', (gate, world) => {
      if (gate.onFree === undefined) return
      let woken = 0
      const stop = gate.onFree(() => woken++)
      const permits = exhaust(gate, world)
      permits[0]?.cancel(world.now())
      if (woken === 0) throw new Error('a slot came back and nobody was woken')
      stop()
      const before = woken
      permits[1]?.cancel(world.now())
      same(woken, before, 'wakes after stop()')
    }),
    check('10,000 random steps: nothing is lost, nothing is gained', (gate, world) => {
      const capacity = gate.holds === true ? capacityOf(gate, world) : undefined
      wander(gate, world, capacity)
      world.advance(DAY_MS)
      if (capacity !== undefined) same(exhaust(gate, world).length, capacity(), 'capacity after the walk')
      else acquired(gate, world).cancel(world.now())
    }),
  ]
}

const VERDICTS: readonly Verdict[] = ['success', 'failure', 'timeout', 'overload', 'ignored']

function askAt(world: VirtualRuntime): Ask {
  return { now: world.now(), deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost: 1, key: '' }
}

function acquired(gate: Gate, world: VirtualRuntime): Permit {
  const answer = gate.tryAcquire(askAt(world))
  if (!answer.ok) throw new Error(`${gate.kind} refused (${answer.reason}) where it must admit: ${answer.why}`)
  return answer
}

function exhaust(gate: Gate, world: VirtualRuntime): Permit[] {
  const permits: Permit[] = []
  while (permits.length < MOST) {
    const answer = gate.tryAcquire(askAt(world))
    if (!answer.ok) break
    permits.push(answer)
  }
  return permits
}

/** What it lends at most. A gate that shows a `limit`, and keeps it, may move it; any other lends as much as at the beginning. */
function capacityOf(gate: Gate, world: VirtualRuntime): () => number {
  const permits = exhaust(gate, world)
  for (const permit of permits) permit.cancel(world.now())
  const limit = () => gate.inspect(world.now())['limit']
  return limit() === permits.length ? () => limit() as number : () => permits.length
}

function wander(gate: Gate, world: VirtualRuntime, capacity: (() => number) | undefined): void {
  const random = seeded(11)
  const held: Permit[] = []
  for (let step = 0; step < 10_000; step++) {
    const dice = random()
    if (dice < 0.45) {
      const answer = gate.tryAcquire(askAt(world))
      if (answer.ok && held.push(answer) > (capacity?.() ?? Number.POSITIVE_INFINITY))
        throw new Error(`${held.length} permits out, capacity ${capacity?.()}`)
    } else if (dice < 0.9 && held.length > 0) {
      const [permit] = held.splice(Math.floor(random() * held.length), 1)
      const verdict = VERDICTS[Math.floor(random() * VERDICTS.length)] as Verdict
      if (random() < 0.2) permit?.cancel(world.now())
      else permit?.settle(verdict, random() * 100, world.now())
    } else world.advance(random() * 500)
  }
  for (const permit of held) permit.settle('success', 1, world.now())
}

function explains(rejection: Rejection, gate: Gate): void {
  const { retryAfterMs, value, limit, why } = rejection
  if (why === '') throw new Error(`${gate.kind} refused without a reason in words`)
  isFinite({ retryAfterMs, value, limit }, `${gate.kind}'s refusal`)
  if (retryAfterMs < 0) throw new Error(`${gate.kind} asks to come back ${retryAfterMs} ms ago`)
}

function isFinite(value: unknown, where: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${where}: ${value} is not finite`)
  if (typeof value === 'function' || typeof value === 'bigint' || typeof value === 'symbol')
    throw new Error(`${where}: not JSON`)
  if (typeof value !== 'object' || value === null) return
  for (const [field, inner] of Object.entries(value)) isFinite(inner, `${where}.${field}`)
}

function same(actual: unknown, expected: unknown, what: string): void {
  if (actual !== expected) throw new Error(`${what}: expected ${String(expected)}, got ${String(actual)}`)
}
