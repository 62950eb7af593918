import type { Check } from '../../../src/lib/check.ts'
import { type ComparedDocument, createSourceComparison } from '../../comparing/sources.ts'
import type { CheckTools, Tell } from './told.ts'

const judge = (compared: ComparedDocument, tell: Tell) => {
  const { accountId, type, id, isMissing, why, differences } = compared
  const place = `account ${accountId}, ${type} ${id}`
  if (isMissing && why === undefined) tell({ place, reason: 'the API does not have it' })
  for (const one of differences)
    if (one.why === undefined) tell({ place, reason: `${one.path}: the API does not have this value` })
}

/** Every key of the source documents is in the responses of the API, unless the import has reported why not. */
export const checkKeys = ({ run, facts, respond }: CheckTools): Check => {
  const keys = createSourceComparison({ run, respond })
  const accountIds = new Set(facts.accounts.keys())
  const all = async function* () {
    for (const accountId of accountIds) yield* keys.ofAccount(facts, accountId)
    yield* keys.numbersOf(facts, accountIds)
  }
  return {
    name: 'keys',
    async run(tell) {
      let seen = 0
      for await (const compared of all()) {
        judge(compared, tell)
        seen += 1
      }
      return seen
    },
  }
}
