import type { ListQuery, Test } from '../../../../lib/question.ts'

const cdrId = /^\d{6}-(?=.)/s

const bare = (text: string) => text.replace(cdrId, '')

const withBareTexts = (test: Test): Test => {
  switch (test.is) {
    case 'oneOf':
    case 'notOneOf':
    case 'noneOf':
      return { is: test.is, texts: new Set([...test.texts].map(bare)) }
    case 'arrayOfAll':
    case 'arrayOfAny':
    case 'arrayOfNone':
      return { is: test.is, texts: test.texts.map(bare) }
    default:
      return test
  }
}

/** Call ids may be asked for in the form of CDR ids, whatever leg they belong to. */
const withBareCallIds = ({ key, test }: ListQuery): ListQuery => ({
  key,
  test: key.endsWith('call_id') ? withBareTexts(test) : test,
})

// `created_from` and `created_to` are the range of the list, which has its own rules.
const isRange = ({ key, test }: ListQuery) =>
  key === 'created' && (test.is === 'notBefore' || test.is === 'notAfter')

/** The questions of a query that are asked of records. */
export const askedOf = (questions: readonly ListQuery[]): ListQuery[] =>
  questions.filter((question) => !isRange(question)).map(withBareCallIds)

/** The one owner whose records are asked for, if it is one. */
export const ownerAskedFor = (questions: readonly ListQuery[]): string | undefined => {
  for (const { key, test } of questions) {
    if (key !== 'custom_channel_vars.owner_id' || test.is !== 'oneOf' || test.texts.size !== 1) continue
    const [only] = test.texts
    // The empty text also means records without an owner.
    if (only !== '') return only
  }
  return undefined
}
