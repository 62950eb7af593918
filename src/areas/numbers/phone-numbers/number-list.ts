import { Type } from 'typebox'
import { normalizeNumber } from '../../../lib/e164.ts'
import type { Problem, Problems } from '../../../lib/failure.ts'

// What a request may have done while its client waits. Tasks take any count of rows.
const maxNumbers = 10_000

/** Numbers of a request. Judged below, for the errors have names of their own. */
export const AskedNumbers = Type.Unsafe<readonly string[]>({
  description: `Array of numbers, no two of them the same, at most ${maxNumbers}`,
})

const problem = (rule: string, message: string, more: Partial<Problem> = {}): Problems => ({
  numbers: { [rule]: { message, ...more } },
})

/** What is wrong with the `numbers` of a request. Numbers that are none fail one by one. */
export const numberListProblems = (numbers: unknown): Problems => {
  if (numbers === undefined || numbers === null) return problem('required', 'list of numbers missing')
  if (!Array.isArray(numbers)) return problem('type', 'numbers must be a list', { target: 'array' })
  if (numbers.length === 0) return problem('minimum', 'minimum 1 number required', { target: 1 })
  if (numbers.length > maxNumbers) {
    const message = `maximum ${maxNumbers} numbers allowed; a task takes more`
    return problem('maxItems', message, { target: maxNumbers })
  }
  const texts = numbers.filter((number) => typeof number === 'string')
  if (texts.length < numbers.length) return problem('type', 'numbers must be texts', { target: 'string' })
  const different = new Set(texts.map(normalizeNumber))
  return different.size < texts.length ? problem('uniqueItems', 'some numbers appear twice') : {}
}
