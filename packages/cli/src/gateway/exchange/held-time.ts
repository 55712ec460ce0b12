// For how long has its route held an exchange back?
//
// Its body and its answer may be held at the same time, and a moment counts once: else who is held back twice would have time to spare.

export class HeldTime {
  private holders = 0
  private since = 0
  private before = 0

  begin(): void {
    if (this.holders++ === 0) this.since = performance.now()
  }

  end(): void {
    if (--this.holders === 0) this.before += performance.now() - this.since
  }

  /** In all. */
  ms(now: number): number {
    return this.before + (this.holders > 0 ? now - this.since : 0)
  }
}
