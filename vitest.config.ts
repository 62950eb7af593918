import { defineConfig } from 'vitest/config'
import { closingLineReporter } from './test/support/closing-line-reporter.ts'
import { isFullRun } from './test/support/run-length.ts'
import { slowestFilesReporter } from './test/support/slowest-files-reporter.ts'

const inBrowser = 'test/console/**/*.test.ts'
// `npm run test:all` alone runs these files.
const long = isFullRun ? [] : ['**/*.long.test.ts']

export default defineConfig({
  test: {
    reporters: ['default', slowestFilesReporter(), closingLineReporter()],
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: {
          name: 'server',
          include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
          exclude: [inBrowser, ...long],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          include: [inBrowser],
          exclude: long,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Node runs the sources as they are, so nothing is transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Loading all modules again for each file took two thirds of the processor time of a run.
    isolate: false,
    // Generous, because a busy machine must not fail a test. They end what would never end.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
})
