/** What came of the reloads; read by operators. */
export class Reloads {
  done = 0
  failed = 0
  /** The last one. */
  at: number | undefined
  /** Why it changed nothing. */
  faults: readonly string[] = []
  /** Settings that wait for a restart. */
  waiting: readonly string[] = []

  /** `at` is Unix time in milliseconds. */
  succeeded(at: number, waiting: readonly string[]): void {
    this.done++
    this.at = at
    this.faults = []
    this.waiting = waiting
  }

  failedWith(at: number, faults: readonly string[]): void {
    this.failed++
    this.at = at
    this.faults = faults
  }

  /** True unless the last one changed nothing. */
  get ok(): boolean {
    return this.faults.length === 0
  }

  inspect(): object {
    const { done, failed, at, ok, faults, waiting } = this
    return { done, failed, at: at === undefined ? undefined : new Date(at).toISOString(), ok, faults, waiting }
  }
}
