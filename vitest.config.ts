import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { ClosingLine } from './tools/test/closing-line.ts'

// `floodwall` means packages/floodwall/src in every test, so that nobody tests yesterday's build.
const conditions = ['floodwall-source']

/** Of the library: tests of objects in virtual time, which share nothing. They load it once per worker and not once per file. */
const shared = [
  'caches',
  'cluster',
  'compat',
  'gates',
  'keys',
  'policies',
  'properties',
  'rules',
  'simulator',
  'sketches',
  'stats',
  'testing',
  'trips',
  'wire',
]
const inVirtualTime = shared.map((room) => `packages/floodwall/test/${room}/**/*.test.ts`)

/** What must keep time, in processes of its own, as it does for a user: it comes last, and has the machine to itself. */
const alone = [
  'packages/cli/test/demo.test.ts',
  'packages/floodwall/test/client/flooded-server.test.ts',
  'packages/floodwall/test/client/three-hops.test.ts',
  'packages/floodwall/test/docs-snippets.test.ts',
  'packages/floodwall/test/docs/output.test.ts',
  'packages/floodwall/test/examples.test.ts',
]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    pool: 'forks',
    // Many tests wait for sockets and processes: one worker less than there are cores, as is usual, would wait with them.
    maxWorkers: availableParallelism() + 1,
    // To end what hangs, and nothing else: beside other work a test of objects takes ten times as long as alone.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', new ClosingLine()],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'] },
    projects: [
      { extends: true, test: { name: 'objects', include: inVirtualTime, isolate: false } },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...inVirtualTime, ...alone],
        },
      },
      { extends: true, test: { name: 'shows', include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
})
