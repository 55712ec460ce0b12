import { type ConfigIssue, isConfigError } from 'floodwall'

/** Every fault of a document: whoever mends it wants to see them all at once. */
export class Faults {
  readonly issues: ConfigIssue[] = []

  /** What `make` makes; undefined, and its faults told, when it throws a ConfigError. */
  collect<T>(make: () => T): T | undefined {
    try {
      return make()
    } catch (error) {
      if (!isConfigError(error)) throw error
      this.issues.push(...error.issues)
      return undefined
    }
  }

  /** True when there were any. */
  tell(issues: readonly ConfigIssue[]): boolean {
    this.issues.push(...issues)
    return issues.length > 0
  }

  /** One more: of which setting, what it was, and what it should have been. */
  say(path: string, value: string, expected: string): void {
    this.issues.push({ path, value, expected })
  }
}
