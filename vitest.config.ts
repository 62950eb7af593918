import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { closingLineReporter } from './test/support/run/closing-line-reporter.ts'
import { isFullRun, isWholeRun } from './test/support/run/run-length.ts'
import { slowestFilesReporter } from './test/support/run/slowest-files-reporter.ts'

// Looks at what all other files did, on both engines.
const last = 'test/**/*.last.test.ts'
// `npm run test:all` alone runs these files.
const long = isFullRun ? [] : ['**/*.long.test.ts']

export default defineConfig({
  test: {
    reporters: ['default', slowestFilesReporter(), closingLineReporter()],
    // More than processors: a third of the files mostly waits for other processes. Each worker uses some 30 of 400 connections.
    maxWorkers: Math.min(Math.ceil(availableParallelism() * 1.5), 12),
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
          exclude: ['**/node_modules/**', last, ...long],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'last',
          include: isWholeRun ? [last] : [],
          sequence: { groupOrder: 1 },
        },
      },
    ],
    globalSetup: ['test/support/run/global-setup.ts'],
    pool: 'forks',
    execArgv: ['--import', fileURLToPath(new URL('./test/support/run/note-statements.mjs', import.meta.url))],
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
