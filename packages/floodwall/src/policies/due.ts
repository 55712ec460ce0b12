import { Alarm } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import { timeoutError } from '../core/errors.ts'

/** The end of a call's time: cancels it from inside, so that every layer between hears of it and the work's signal fires. */
export class Due extends Alarm {
  rang = false
  private readonly call: Call
  private readonly code: 'timeout' | 'deadline'
  private readonly path: string
  private readonly afterMs: number

  constructor(call: Call, code: 'timeout' | 'deadline', path: string, afterMs: number) {
    super()
    this.call = call
    this.code = code
    this.path = path
    this.afterMs = afterMs
  }

  override ring(): void {
    this.rang = true
    this.call.cancel(timeoutError(this.code, this.path, this.afterMs), 'timeout')
  }
}
