/** `texts` are compared with the text of the value; a missing value is empty. */
export type Test =
  | { is: 'oneOf' | 'notOneOf' | 'noneOf'; texts: ReadonlySet<string> }
  | { is: 'arrayOfAll' | 'arrayOfAny' | 'arrayOfNone'; texts: readonly string[] }
  | { is: 'present' | 'absent' | 'filled' | 'unfilled' | 'impossible' }
  | { is: 'notBefore' | 'notAfter'; bound: number }

export interface ListQuery {
  /** Dotted path. */
  key: string
  test: Test
}
