import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

// Loaded with the first pattern: 260 KB of source.
const load = createRequire(import.meta.url)
const engine = (): typeof import('re2js') => load('re2js')

// Customers' patterns match in linear time; the limits bound the factor (worst first match: 0.1 s).
export const maxPatternLength = 256
const maxInstructions = 1000
const maxTextLength = 512

export interface Pattern {
  /** Anywhere in the text; longer texts than 512 characters never match. */
  matches(text: string): boolean
  groups: number
  firstGroup(text: string): string | undefined
  /** Without groups the whole match. */
  lastGroup(text: string): string | undefined
}

type Compilation = { pattern: Pattern; problem?: never } | { pattern?: never; problem: string }

const programOf = (text: string) => {
  const program = engine().RE2JS.compile(text)
  // Counted repetitions are expanded.
  return program.programSize() > maxInstructions ? undefined : program
}

const groupOf = (program: RE2JS, group: number, text: string) => {
  if (text.length > maxTextLength || group > program.groupCount()) return undefined
  const matcher = program.matcher(text)
  return matcher.find() ? (matcher.group(group) ?? undefined) : undefined
}

/** No look-around, no back references. `problem` continues "the pattern ". */
export const compilePattern = (text: string): Compilation => {
  if (text.length > maxPatternLength) return { problem: `is longer than ${maxPatternLength} characters` }
  try {
    const program = programOf(text)
    if (!program) return { problem: 'repeats too much' }
    return {
      pattern: {
        matches: (candidate) => candidate.length <= maxTextLength && program.test(candidate),
        groups: program.groupCount(),
        firstGroup: (candidate) => groupOf(program, 1, candidate),
        lastGroup: (candidate) => groupOf(program, program.groupCount(), candidate),
      },
    }
  } catch (error) {
    if (error instanceof engine().RE2JSException) return { problem: `cannot be read: ${error.message}` }
    throw error
  }
}
