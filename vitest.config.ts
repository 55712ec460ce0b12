import { defineConfig } from 'vitest/config'
import { ClosingLine } from './tools/test/closing-line.ts'

// `floodwall` means packages/floodwall/src in every test, so that nobody tests yesterday's build.
const conditions = ['floodwall-source']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    reporters: ['default', new ClosingLine()],
    coverage: { provider: 'v8', include: ['packages/*/src/**/*.ts'] },
  },
})
