import { type Ask, type Env, type Gate, Permit, Rejection, Semaphore, type Verdict } from 'floodwall'
import { gateContract } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

// The contract must catch what it is there for: each gate here breaks one promise.

/** Names of the promises that gates of `make` break. */
function broken(make: (env: Env) => Gate): string[] {
  return gateContract(make)
    .filter(({ run }) => {
      try {
        run()
        return false
      } catch {
        return true
      }
    })
    .map(({ name }) => name)
}

/** An honest gate of two slots, to be spoilt. */
class Slots implements Gate {
  readonly kind: string = 'slots'
  readonly path: string
  readonly holds = true
  protected used = 0
  protected wakers = new Set<() => void>()

  constructor(env: Env) {
    this.path = env.path
  }

  tryAcquire(_ask: Ask): Permit | Rejection {
    if (this.used >= 2) return new Rejection(this, 'full', 0, this.used, 2)
    this.used++
    return new Permit(this, 0)
  }

  settled(_permit: Permit, _verdict: Verdict, _tookMs: number, _now: number): void {
    this.free()
  }

  cancelled(): void {
    this.free()
  }

  protected free(): void {
    this.used--
    for (const wake of this.wakers) wake()
  }

  onFree(wake: () => void): () => void {
    this.wakers.add(wake)
    return () => void this.wakers.delete(wake)
  }

  inspect() {
    return { kind: this.kind, path: this.path, used: this.used }
  }
}

test('an honest gate breaks none', () => {
  expect(broken((env) => new Slots(env))).toEqual([])
  expect(broken((env) => new Semaphore({ slots: 5 }, env))).toEqual([])
})

describe('it catches', () => {
  const gates: [string, (env: Env) => Gate, RegExp][] = [
    [
      'a permit that can be ended twice',
      (env) =>
        new (class extends Slots {
          override tryAcquire(ask: Ask) {
            const answer = super.tryAcquire(ask)
            if (!answer.ok) return answer
            const free = () => this.free()
            return { ok: true, open: true, settle: free, cancel: free, next: null } as unknown as Permit
          }
        })(env),
      /ends once/,
    ],
    [
      'a permit lost when the work fails',
      (env) =>
        new (class extends Slots {
          override settled(_permit: Permit, verdict: Verdict) {
            if (verdict !== 'failure') this.free()
          }
        })(env),
      /after a day|random steps/,
    ],
    [
      'a permit lost when nothing ran',
      (env) =>
        new (class extends Slots {
          override cancelled() {}
        })(env),
      /cancelled comes back/,
    ],
    [
      'a slot too many given back',
      (env) =>
        new (class extends Slots {
          override cancelled() {
            this.used = Math.max(0, this.used - 2)
          }
        })(env),
      /random steps/,
    ],
    [
      'NaN in inspect()',
      (env) =>
        new (class extends Slots {
          override inspect() {
            return { ...super.inspect(), share: this.used / 0 - this.used / 0 }
          }
        })(env),
      /JSON-safe/,
    ],
    [
      'a function in inspect()',
      (env) =>
        new (class extends Slots {
          override inspect() {
            return { ...super.inspect(), free: () => 1 } as never
          }
        })(env),
      /JSON-safe/,
    ],
    [
      'a refusal that takes a slot',
      (env) =>
        new (class extends Slots {
          private refused = 0
          override tryAcquire(ask: Ask) {
            const answer = super.tryAcquire(ask)
            if (!answer.ok && this.refused++ < 3) this.used++
            return answer
          }
        })(env),
      /takes nothing|comes back|random steps/,
    ],
    [
      'a refusal without a reason in words',
      (env) =>
        new (class extends Slots {
          explain() {
            return ''
          }
        })(env),
      /explains itself/,
    ],
    [
      'a wait that is not a number',
      (env) =>
        new (class extends Slots {
          override tryAcquire(ask: Ask) {
            const answer = super.tryAcquire(ask)
            return answer.ok ? answer : new Rejection(this, 'full', Number.NaN, 2, 2)
          }
        })(env),
      /explains itself/,
    ],
    [
      'a waiter that is not woken',
      (env) =>
        new (class extends Slots {
          override onFree() {
            return () => {}
          }
        })(env),
      /onFree/,
    ],
    [
      'a waiter that cannot stop',
      (env) =>
        new (class extends Slots {
          override onFree(wake: () => void) {
            super.onFree(wake)
            return () => {}
          }
        })(env),
      /onFree/,
    ],
    [
      'a gate that shuts for ever',
      (env) =>
        new (class extends Slots {
          override readonly kind = 'shut'
          override settled() {}
        })(env),
      /after a day/,
    ],
  ]

  test.each(gates)('%s', (_, make, name) => {
    expect(broken(make)).toContainEqual(expect.stringMatching(name))
  })
})
