import type { Snapshot } from '../../core/gate.ts'
import type { Bounds } from './estimate.ts'
import type { Estimator } from './estimator.ts'

// How many at once, if somebody has said so?
//
// As a bulkhead, for comparison with the others and to pin a limit by a reload. It learns nothing.
//
// Invariant: the limit is the initial one, within the bounds.

export class Fixed implements Estimator {
  readonly kind = 'fixed'
  limit: number

  constructor({ initial, min, max }: Bounds) {
    this.limit = Math.min(max, Math.max(min, initial))
  }

  sample(): void {}

  reconfigure({ initial, min, max }: Bounds): void {
    this.limit = Math.min(max, Math.max(min, initial))
  }

  inspect(): Snapshot {
    return { kind: this.kind, limit: this.limit }
  }
}
