import { publicHalf } from '../../src/areas/accounts/rules.ts'
import { accountKind } from '../../src/auth/identity.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Store } from '../../src/storage/store.ts'
import { convertAccount, treeOf } from '../conversions/accounts/rules.ts'
import { readDocument } from '../documents/fields.ts'
import { type Drawings, type Look, toldAt } from './drawings.ts'
import { differencesOfRecords } from './rules.ts'

/** Accounts themselves: what they say, and below whom they stand. */
export const createAccountComparison = (
  { records }: Pick<Store, 'records'>,
  { arrivalOf, withReason }: Drawings,
) => {
  return async ({ facts: { plan, source }, add }: Look, accountId: string) => {
    const planned = plan.accounts.get(accountId)
    const found = planned && (await source.document(planned.source, accountId))
    if (!planned || !found) return
    const document = readDocument(planned.source, found)
    const [draft] = convertAccount(document, plan).drafts
    if (!draft) return
    const place = { account_id: accountId, question: 'account' }
    const stored = await records.find(accountId, accountKind, accountId)
    if (!stored) return add('account', 1, [{ ...place, what: 'missing' }])
    const { doc, hidden, modified } = stored
    const expected = await arrivalOf({ draft, document })
    const differences = [
      ...differencesOfRecords(publicHalf(expected.doc), doc as Json),
      ...differencesBetween(
        { enabled: draft.facts.enabled, is_reseller: planned.isReseller },
        { enabled: hidden.enabled, is_reseller: hidden.isReseller },
      ),
    ]
    add('account', 1, await withReason({ draft, document }, modified, toldAt(place, differences)))
    const [there, here] = [treeOf(plan, accountId).join(), hidden.tree.join()]
    const ofTree = { account_id: accountId, question: 'tree', what: 'tree', there, here }
    add('tree', 1, there === here ? [] : [ofTree])
  }
}
