import { once } from 'node:events'
import { accessSync, chmodSync, lstatSync, unlinkSync } from 'node:fs'
import { type AddressInfo, connect, type Server } from 'node:net'
import { dirname } from 'node:path'
import { type Address, type SocketPath, showAddress } from '../config/address.ts'

// A listener on TCP or on a file. The file belongs to its owner alone from the moment it is there; what a process that died has left is taken
// away, what one that lives uses is not.

const PRIVATE = 0o600

/** Rejects when it cannot. */
export async function listenAt(server: Server, place: Address | SocketPath): Promise<void> {
  if (!('path' in place)) {
    server.listen(place.port, place.host)
    await once(server, 'listening')
    return
  }
  try {
    await listenOn(server, place.path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || !(await isLeftOver(place.path))) throw error
    unlinkSync(place.path)
    await listenOn(server, place.path)
  }
}

/** Where it listens, as people write it. */
export function showListening(server: Server): string {
  const at = server.address() as AddressInfo | string
  if (typeof at === 'string') return `unix:${at}`
  return `http://${showAddress({ host: at.address, port: at.port })}`
}

async function listenOn(server: Server, path: string): Promise<void> {
  // Node would call a folder that is missing a lack of rights.
  accessSync(dirname(path))
  // The file is made within listen(), so that it never has other rights than these; chmod for systems where umask says nothing on sockets.
  const before = process.umask(0o777 & ~PRIVATE)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
  await once(server, 'listening')
  chmodSync(path, PRIVATE)
}

/** A socket at which nobody listens. */
async function isLeftOver(path: string): Promise<boolean> {
  if (!lstatSync(path).isSocket()) throw new Error(`${path} is there already, and is no socket`)
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}
