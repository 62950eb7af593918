import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

// 260 KB of source that most servers never need: read with the first pattern.
const load = createRequire(import.meta.url)
const engine = (): typeof import('re2js') => load('re2js')

// Regular expressions of customers. Matching takes time linear in the text, so no pattern can hang the server;
// these bounds keep the factor small (worst measured case: 0.1 s for the first match, a few ms after).
export const maxPatternLength = 256
const maxInstructions = 1000
const maxTextLength = 512

export interface Pattern {
  /** Whether the pattern occurs in the text (anchor with ^ and $). A text beyond 512 characters matches nothing. */
  matches(text: string): boolean
  groups: number
  /** What the first group holds where the pattern occurs first. */
  firstGroup(text: string): string | undefined
  /** What the last group holds there; of a pattern without groups, the whole match. */
  lastGroup(text: string): string | undefined
}

type Compilation = { pattern: Pattern; problem?: never } | { pattern?: never; problem: string }

const programOf = (text: string) => {
  const program = engine().RE2JS.compile(text)
  // Counted repetitions are written out: a short text can make a huge program.
  return program.programSize() > maxInstructions ? undefined : program
}

const groupOf = (program: RE2JS, group: number, text: string) => {
  if (text.length > maxTextLength || group > program.groupCount()) return undefined
  const matcher = program.matcher(text)
  return matcher.find() ? (matcher.group(group) ?? undefined) : undefined
}

/** RE2 syntax: no look-around, no back references. A problem reads on after "the pattern ". */
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
