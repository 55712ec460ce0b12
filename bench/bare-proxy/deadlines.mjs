// All requests have the same time, so a list in order of arrival is a list in order of expiry: one timer for all of them
// instead of one each. An entry has the fields `due`, `before`, `after`, `listed` and a method `expire()`.

export class Deadlines {
  head = null
  tail = null
  timer = null
  sweep = () => this.expireDue()

  constructor(spanMs) {
    this.spanMs = spanMs
  }

  add(entry) {
    entry.due = performance.now() + this.spanMs
    entry.listed = true
    entry.before = this.tail
    entry.after = null
    if (this.tail === null) this.head = entry
    else this.tail.after = entry
    this.tail = entry
    this.timer ??= setTimeout(this.sweep, this.spanMs).unref()
  }

  remove(entry) {
    if (!entry.listed) return
    entry.listed = false
    if (entry.before === null) this.head = entry.after
    else entry.before.after = entry.after
    if (entry.after === null) this.tail = entry.before
    else entry.after.before = entry.before
    entry.before = entry.after = null
  }

  expireDue() {
    this.timer = null
    const now = performance.now()
    while (this.head !== null && this.head.due <= now) {
      const entry = this.head
      this.remove(entry)
      entry.expire()
    }
    if (this.head !== null) this.timer ??= setTimeout(this.sweep, Math.max(1, this.head.due - now)).unref()
  }
}
