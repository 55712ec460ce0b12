import { type Address, isSecure, type SocketPath, showAddress, showPlace } from './address.ts'
import type { ClusterConfig } from './cluster-options.ts'
import type { Faults } from './faults.ts'

// Settings that are right one by one, and should not be together, or not be at all.

/** What of the settings can clash. */
interface Said {
  readonly listen: Address
  readonly tls?: { readonly listen?: Address | undefined } | undefined
  readonly admin: Address | SocketPath
  readonly drain: number
  readonly drainDelay?: number | undefined
}

/** What is right alone and cannot be together. */
export function tellClashes({ listen, tls, admin, drain, drainDelay }: Said, faults: Faults): void {
  const other = tls?.listen
  const clash = (path: string, place: string, than: Address | undefined): void => {
    if (than !== undefined && than.port !== 0 && place === showAddress(than)) {
      faults.say(path, JSON.stringify(place), `another address than ${than === listen ? 'listen' : 'tls.listen'}`)
    }
  }
  clash('admin', showPlace(admin), listen)
  clash('admin', showPlace(admin), other)
  if (other !== undefined) clash('tls.listen', showAddress(other), listen)
  if (drainDelay !== undefined && drainDelay > drain) {
    faults.say('drainDelay', `${drainDelay} ms`, `at most "drain", which is ${drain} ms`)
  }
}

/** Clusters whose servers may be anybody. */
export function trusting(clusters: readonly ClusterConfig[]): string[] {
  return clusters
    .filter(({ tls, targets }) => tls?.insecure === true && targets.some(isSecure))
    .map(({ name }) => `tls.insecure: nobody checks who answers in the name of cluster "${name}"`)
}
