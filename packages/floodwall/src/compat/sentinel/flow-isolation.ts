// How many may be inside, as an isolation rule of Sentinel would say?
//
// A replica of alibaba/sentinel-golang (commit f7a7f957), to compare with. The batch counts when somebody asks, and as one once he is in: with a
// threshold of 4, two batches of 3 are two, and a third one of 2 passes.
//
// Invariant: its answers and its count. Our `bulkhead` counts a call as one, and a call that needs more takes more.

export class SentinelIsolation {
  readonly threshold: number
  inFlight = 0

  constructor(threshold: number) {
    this.threshold = threshold
  }

  enter(batch: number): boolean {
    if (this.inFlight + batch > this.threshold) return false
    this.inFlight++
    return true
  }

  exit(): void {
    this.inFlight--
  }
}
