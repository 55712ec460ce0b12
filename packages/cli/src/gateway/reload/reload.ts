import { isConfigError } from 'floodwall'
import { configOf, type Flags } from '../config/config.ts'
import { Misconfigured, showFault } from '../config/document.ts'
import { Reading } from '../config/reading.ts'
import type { Gateway } from '../gateway.ts'
import type { Log } from '../log.ts'
import { FileWatch, onlyAsked } from './file-watch.ts'

// New settings for a gateway that runs: all of them, or none.

export class Reload {
  private readonly gateway: Gateway
  private readonly flags: Flags
  private readonly log: Log
  private readonly watch: FileWatch
  private why: 'a file has changed' | 'SIGHUP' = 'a file has changed'

  /** `reading`: of the running settings. `watchful`: looks by itself whether its files change. */
  constructor(gateway: Gateway, flags: Flags, log: Log, reading: Reading, watchful: boolean) {
    this.gateway = gateway
    this.flags = flags
    this.log = log
    this.watch = new FileWatch((files) => this.run(files), watchful ? undefined : onlyAsked)
    this.watch.over(reading.digests)
  }

  /** Somebody says that there is something new. */
  ask(): void {
    this.why = 'SIGHUP'
    this.watch.ask()
  }

  /** `files` are complete; those that nobody named before are read. */
  private run(files: ReadonlyMap<string, Buffer>): void {
    const { gateway, log, why } = this
    this.why = 'a file has changed'
    if (gateway.stage !== 'ready' && gateway.stage !== 'starting') return
    const reading = new Reading(files)
    try {
      const { waiting, concerns } = gateway.update(configOf(this.flags, reading))
      log.info({ why, routes: gateway.site.routes.length, clusters: gateway.site.clusters.length }, 'reloaded')
      for (const concern of concerns) log.warn(concern)
      if (waiting.length > 0) log.warn({ settings: waiting }, 'these settings need a restart; the others are in effect')
    } catch (error) {
      const faults = faultsOf(error)
      gateway.reloads.failedWith(Date.now(), faults)
      for (const fault of faults) log.error({ why, fault }, 'not reloaded: the settings stay as they were')
    }
    // After a failure, too: it is not to be told again and again, only when something changes.
    this.watch.over(reading.digests)
  }

  close(): void {
    this.watch.close()
  }
}

function faultsOf(error: unknown): string[] {
  if (error instanceof Misconfigured) return error.faults.map(showFault)
  if (isConfigError(error)) return error.message.split('\n')
  return [error instanceof Error ? error.message : String(error)]
}
