import { expect, it } from 'vitest'
import { slowestFiles } from '../support/run/slowest-files-reporter.ts'

it('lists the twenty slowest files of a run, slowest first', () => {
  const files = Array.from({ length: 25 }, (_, index) => ({ path: `test/${index}.test.ts`, seconds: index }))
  const lines = slowestFiles(files)
  expect(lines).toHaveLength(20)
  expect(lines.slice(0, 2)).toEqual(['   24.0  test/24.test.ts', '   23.0  test/23.test.ts'])
  expect(lines.at(-1)).toBe('    5.0  test/5.test.ts')
})
