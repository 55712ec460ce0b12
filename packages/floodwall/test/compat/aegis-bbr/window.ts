// The ring of buckets of aegis, as far as its BBR limiter reads it.

interface Bucket {
  sum: number
  count: number
}

export class Window {
  private readonly widthUs: number
  private readonly buckets: Bucket[]
  private at = 0
  /** The edge at which the newest bucket began. It moves by whole buckets, and only when something is written. */
  private startUs = 0

  constructor(buckets: number, widthUs: number) {
    this.widthUs = widthUs
    this.buckets = Array.from({ length: buckets }, () => ({ sum: 0, count: 0 }))
  }

  add(amount: number, nowUs: number): void {
    const passed = this.passed(nowUs)
    for (let i = Math.min(passed, this.buckets.length); i > 0; i--) {
      this.at = (this.at + 1) % this.buckets.length
      this.buckets[this.at] = { sum: 0, count: 0 }
    }
    this.startUs += passed * this.widthUs
    const bucket = this.buckets[this.at] as Bucket
    bucket.sum += amount
    bucket.count++
  }

  /** What has not expired, oldest first, without the one that time is in; null when all has. */
  past(nowUs: number): Bucket[] | null {
    const { length } = this.buckets
    const passed = this.passed(nowUs)
    if (passed >= length) return null
    const found: Bucket[] = []
    const end = passed === 0 ? length - 1 : length
    for (let age = passed; age < end; age++) found.push(this.buckets[(this.at + 1 + age) % length] as Bucket)
    return found
  }

  private passed(nowUs: number): number {
    return Math.floor((nowUs - this.startUs) / this.widthUs)
  }
}
