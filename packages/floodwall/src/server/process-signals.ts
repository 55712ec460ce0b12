import type { Socket } from 'node:net'
import { BUSY, SIGNALS } from '../algorithms/admission/pressure.ts'
import { switchedOff } from '../core/ambient.ts'
import type { FloodEvent } from '../core/event.ts'
import { envOf, type Shared } from '../core/runtime.ts'
import { systemRuntime } from '../core/system.ts'
import { type Intake, intakeOf, type Taking } from './intake.ts'
import { FRESH, UNKNOWN } from './queue-delay.ts'
import { type Signals, type SignalView, signalsOf } from './signals/index.ts'

// How is this process, for pipelines that have no edge of ours before them?
//
// What a `ServerEdge` does for its pipeline, a gateway does for all of its routes: layers that ask for the process find it among what they share.

/** A refusal of a gateway on a new connection: 139 µs of CPU, of which 31 are measured, from the route to the answer (loopback, Node 20). */
const WHOLE = 4.5

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

  /** Whether `server` takes new connections: who asks tells it of refusals, and closes it. `path` names it in events, which `told` hears of. */
  intake(server: Taking, path: string, told: (event: FloodEvent) => void = () => {}): Intake {
    const emit = (event: FloodEvent): void => {
      systemRuntime.emit(event)
      told(event)
    }
    return intakeOf(server, this.signals, envOf({ ...systemRuntime, emit }, path), WHOLE)
  }

  /**
   * How long a request that is met now has waited for the loop, in milliseconds; the first of its connection (`intake`, `socket`) also to be taken. Of others
   * nothing is known.
   */
  waitedMs(intake?: Intake, socket?: Socket): number {
    const { queueDelay } = this.signals
    if (intake === undefined || socket === undefined) return queueDelay.waited(UNKNOWN)
    // What TLS says before a request takes turns that nobody counts.
    const since = 'encrypted' in socket ? UNKNOWN : FRESH
    return queueDelay.waited(since, intake.waitedMs(socket, systemRuntime.precise()))
  }

  /** What is, now: JSON-safe. */
  inspect(): Record<string, SignalView> {
    return this.signals.inspect(systemRuntime.precise())
  }

  close(): void {
    this.release()
  }
}
