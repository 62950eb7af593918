import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { reasonIn } from '../servers/installed.ts'

interface Tally {
  passed: number
  failed: number
  skipped: number
  /** How many tests were left out for which reason. */
  leftOut: Map<string, number>
}

// A file or a suite that breaks outside of its tests (while loading, in a hook) failed once itself.
const countBroken = (module: TestModule) => {
  const suites = [...module.children.allSuites()]
  return [module, ...suites].filter((part) => part.errors().length > 0).length
}

// A test that skips itself while it runs has its reason as a note.
const addReason = (leftOut: Map<string, number>, test: TestCase) => {
  const result = test.result()
  if (result.state !== 'skipped') return
  const reason = result.note ?? reasonIn(test.fullName)
  if (reason) leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
}

const addModule = (tally: Tally, module: TestModule) => {
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    if (state === 'passed') tally.passed += 1
    else if (state === 'failed') tally.failed += 1
    else tally.skipped += 1
    addReason(tally.leftOut, test)
  }
  tally.failed += countBroken(module)
}

/** `12 passed, 0 failed`, and `, 1 skipped` when some were. */
const closingLine = ({ passed, failed, skipped }: Omit<Tally, 'leftOut'>) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

const reasonLines = ({ leftOut }: Tally) =>
  [...leftOut].toSorted().map(([reason, count]) => `skipped: ${reason} (tests: ${count})\n`)

/** Ends the output with why tests were left out, and with the one line that a person or a script looks for. */
export const closingLineReporter = (): Reporter => {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0, leftOut: new Map() }
  return {
    onInit() {
      // At the end of the process: vitest prints after the last reporter was called.
      process.once('exit', (status) => {
        // Line and status agree, also when the run broke before any test ran.
        const failed = status === 0 ? tally.failed : Math.max(tally.failed, 1)
        process.stdout.write(`${reasonLines(tally).join('')}${closingLine({ ...tally, failed })}\n`)
      })
    },
    onTestRunEnd(modules, unhandledErrors) {
      for (const module of modules) addModule(tally, module)
      tally.failed += unhandledErrors.length
    },
  }
}
