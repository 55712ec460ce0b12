import { BUSY, SIGNALS } from '../algorithms/admission/pressure.ts'
import { switchedOff } from '../core/ambient.ts'
import type { Shared } from '../core/runtime.ts'
import { systemRuntime } from '../core/system.ts'
import { UNKNOWN } from './queue-delay.ts'
import { type Signals, type SignalView, signalsOf } from './signals/index.ts'

// How is this process, for pipelines that have no edge of ours before them?
//
// What a `ServerEdge` does for its pipeline, a gateway does for all of its routes: layers that ask for the process find it among what they share.

/** Looks at this process until it is closed. */
export class ProcessSignals {
  private readonly signals: Signals = signalsOf({ ...systemRuntime, ambient: systemRuntime.ambient ?? switchedOff() })
  private readonly release: () => void = this.signals.hold()

  /** For the option `shared` of a pipeline: a map of its own. */
  shared(): Shared {
    const { pressures, busy } = this.signals
    return new Map<string, unknown>([
      [SIGNALS, [...pressures]],
      [BUSY, [busy]],
    ])
  }

  /** A request has come. */
  touch(): void {
    this.signals.touch()
  }

  /** How long a request that is met now has waited for the loop, in milliseconds, when nothing is known of its connection. */
  waitedMs(): number {
    return this.signals.queueDelay.waited(UNKNOWN)
  }

  /** What is, now: JSON-safe. */
  inspect(): Record<string, SignalView> {
    return this.signals.inspect(systemRuntime.precise())
  }

  close(): void {
    this.release()
  }
}
