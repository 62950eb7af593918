import { memberOf } from '../../src/lib/member.ts'

// What a number says may depend on how it is written: in limits `5.0` is five dollars and `5` five units. Parsing
// forgets the difference.

class NumberLiteral {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const reviveLiterally = (_key: string, value: unknown, context?: { source?: string }) =>
  typeof value === 'number' ? new NumberLiteral(context?.source ?? String(value)) : value

/** Finds out how numbers of a JSON text are written, by where they stand. */
export const numberLiterals = (text: string) => {
  const document: unknown = JSON.parse(text, reviveLiterally)
  return (...path: readonly string[]): string | undefined => {
    const found = memberOf(document, ...path)
    return found instanceof NumberLiteral ? found.text : undefined
  }
}

/** Whether Kazoo reads a number that is written so as a fraction, whatever its value is. */
export const isWrittenAsFraction = (literal: string) => /[.eE]/.test(literal)
