import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node'

export interface Tally {
  passed: number
  failed: number
  skipped: number
}

/** The parts of vitest's report that the tally reads. */
type Module = Pick<TestModule, 'errors'> & {
  readonly children: {
    allTests(): Iterable<{ result(): { readonly state: string } }>
    allSuites(): Iterable<{ errors(): readonly unknown[] }>
  }
}

/**
 * Counts tests, and whatever else made the run red: a module that did not load, a suite whose hook threw, an error that no test
 * caught. Without those a run with a syntax error would close with `0 failed`. A test that never came to an end has failed too.
 */
export function tally(modules: Iterable<Module>, unhandled: number): Tally {
  const count: Tally = { passed: 0, failed: unhandled, skipped: 0 }
  for (const module of modules) {
    if (module.errors().length > 0) count.failed++
    for (const suite of module.children.allSuites()) if (suite.errors().length > 0) count.failed++
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      count[state === 'passed' || state === 'skipped' ? state : 'failed']++
    }
  }
  return count
}

/** The last line of a run, for people and for the script that adds up several runs. */
export class ClosingLine implements Reporter {
  async onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
    end: TestRunEndReason,
  ): Promise<void> {
    const { passed, failed, skipped } = tally(modules, unhandled.length)
    // Red for a reason of its own, for instance because no test matched.
    const red = end !== 'passed' && failed === 0 ? 1 : failed
    const line = `\n${passed} passed, ${red} failed, ${skipped} skipped\n`
    // Waits until it is out: the process exits soon, and a pipe that is shared with others may take its time.
    await new Promise((resolve) => {
      process.stdout.write(line, resolve)
    })
  }
}
