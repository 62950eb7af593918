import type { Reporter, TestModule } from 'vitest/node'

interface Tally {
  passed: number
  failed: number
  skipped: number
}

// A file or a suite that breaks outside of its tests (while loading, in a hook) failed once itself.
const countBroken = (module: TestModule) => {
  const suites = [...module.children.allSuites()]
  return [module, ...suites].filter((part) => part.errors().length > 0).length
}

const addModule = (tally: Tally, module: TestModule) => {
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    if (state === 'passed') tally.passed += 1
    else if (state === 'failed') tally.failed += 1
    else tally.skipped += 1
  }
  tally.failed += countBroken(module)
}

/** `12 passed, 0 failed`, and `, 1 skipped` when some were. */
const closingLine = ({ passed, failed, skipped }: Tally) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

/** Ends the output with the one line that a person or a script looks for. */
export const closingLineReporter = (): Reporter => {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 }
  return {
    onInit() {
      // At the very end: vitest itself still has things to say after the last reporter was asked.
      process.once('exit', (status) => {
        // Line and status agree, also when the run broke before any test ran.
        const failed = status === 0 ? tally.failed : Math.max(tally.failed, 1)
        process.stdout.write(`${closingLine({ ...tally, failed })}\n`)
      })
    },
    onTestRunEnd(modules, unhandledErrors) {
      for (const module of modules) addModule(tally, module)
      tally.failed += unhandledErrors.length
    },
  }
}
