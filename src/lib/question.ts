// What filters ask of records: of their documents here, of columns where a store has them.

/** What is asked of a value. `texts` are compared with the value's text; a missing value is the empty text. */
export type Test =
  | { is: 'oneOf' | 'notOneOf' | 'noneOf'; texts: ReadonlySet<string> }
  | { is: 'arrayOfAll' | 'arrayOfAny' | 'arrayOfNone'; texts: readonly string[] }
  | { is: 'present' | 'absent' | 'filled' | 'unfilled' | 'impossible' }
  | { is: 'notBefore' | 'notAfter'; bound: number }

/** One filter of a query. */
export interface ListQuery {
  /** Dotted path. */
  key: string
  test: Test
}
