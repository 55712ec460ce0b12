import type { ServerResponse } from 'node:http'

/**
 * `100 Continue`. Not before it is the turn of this response: node:http puts the head of a queued one before what is queued already, and the 100 would end up
 * in the middle of the answer.
 */
export function tellToGoOn(response: ServerResponse): void {
  const go = (): void => {
    if (!response.headersSent) response.writeContinue()
  }
  if (response.socket === null) response.once('socket', go)
  else go()
}
