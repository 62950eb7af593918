import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const shownFiles = 20

/** Seconds that a file took: its imports, hooks and tests. */
export const secondsOf = (module: TestModule) => {
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  return (collectDuration + setupDuration + duration) / 1000
}

/** The slowest files, slowest first, a line each. */
export const slowestFiles = (files: readonly { path: string; seconds: number }[]) =>
  files
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, shownFiles)
    .map(({ path, seconds }) => `${seconds.toFixed(1).padStart(7)}  ${path}`)

/** Prints the slowest files at the end of a run. */
export const slowestFilesReporter = (): Reporter => ({
  onTestRunEnd(modules) {
    const files = modules.map((module) => ({
      path: relative(process.cwd(), module.moduleId),
      seconds: secondsOf(module),
    }))
    process.stdout.write(`\nSlowest files, in seconds:\n${slowestFiles(files).join('\n')}\n`)
  },
})
