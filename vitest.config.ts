import { defineConfig } from 'vitest/config'
import { closingLineReporter } from './test/support/closing-line-reporter.ts'

const inBrowser = 'test/console/**/*.test.ts'

export default defineConfig({
  test: {
    reporters: ['default', closingLineReporter()],
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: {
          name: 'server',
          include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
          exclude: [inBrowser],
          sequence: { groupOrder: 0 },
          // What is done after an answer comes later on a machine that has much else to do.
          expect: { poll: { timeout: 15_000 } },
        },
      },
      {
        extends: true,
        // A browser takes all that a small machine has: whoever counts milliseconds is done before.
        test: {
          name: 'console',
          include: [inBrowser],
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Loading everything anew for each file took two thirds of the processor time of a run.
    isolate: false,
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
})
