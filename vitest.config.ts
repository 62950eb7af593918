import { defineConfig } from 'vitest/config'
import { closingLineReporter } from './test/support/closing-line-reporter.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', closingLineReporter()],
    pool: 'forks',
    // Loading everything anew for each file took two thirds of the processor time of a run.
    isolate: false,
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
