import { Alarm } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import { timeoutError } from '../core/errors.ts'

/** Whose time it is that ends. */
interface Owner {
  readonly kind: 'timeout' | 'deadline'
  readonly path: string
  readonly spanMs: number
}

/** The end of a call's time: cancels it from inside, so that every layer between hears of it and the work's signal fires. */
export class Due extends Alarm {
  rang = false
  private readonly call: Call
  private readonly owner: Owner

  constructor(call: Call, owner: Owner) {
    super()
    this.call = call
    this.owner = owner
  }

  override ring(): void {
    this.rang = true
    const { kind, path, spanMs } = this.owner
    this.call.cancel(timeoutError(kind, path, spanMs), 'timeout')
  }
}
