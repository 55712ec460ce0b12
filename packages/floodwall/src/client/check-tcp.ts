import { connect } from 'node:net'
import { targetOf } from './address.ts'
import type { Prober } from './prober.ts'

/** Well is who accepts a connection; it is closed at once. */
export const checkTcp: Prober = (endpoint, signal) =>
  new Promise<void>((resolve, reject) => {
    const { host, port } = targetOf(endpoint)
    const socket = connect({ host, port, signal })
    // A process that has nothing else to do need not wait for a check.
    socket.unref()
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
