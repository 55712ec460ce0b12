import type { IncomingMessage } from 'node:http'
import type { Ambient } from '../core/ambient.ts'
import type { Call } from '../core/call.ts'

/** Listeners of `request` run on behalf of `call`: Node would run them in the context of the connection. */
export function carry(request: IncomingMessage, call: Call, ambient: Ambient): void {
  const { emit } = request
  request.emit = (...args: unknown[]): boolean => {
    const go = () => Reflect.apply(emit, request, args) as boolean
    return ambient.on === null ? go() : (ambient.on.run(call, go, undefined) as boolean)
  }
}
