import { publicHalf } from '../../src/areas/accounts/accounts/rules.ts'
import { type AccountRecord, accountKind } from '../../src/auth/identity.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import type { Json } from '../../src/lib/json.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { convertAccount, type PlannedAccount, treeOf } from '../conversions/accounts.rules.ts'
import { readDocument } from '../documents/fields.ts'
import { inParts } from '../import-run/at-once.ts'
import { arrivalOf, type Comparison, compareValues, withReason } from './comparison.ts'
import { differencesAt, differencesOfRecords } from './differences.ts'

/** Unique names by which an account is found. */
const namesOf = ({ nameClaim, realm }: PlannedAccount) => ({
  account_name: nameClaim,
  realm: realm.toLowerCase(),
})

const compareRecord = async (
  comparison: Comparison,
  planned: PlannedAccount,
  { doc, hidden, modified }: AccountRecord,
  names: ReadonlyMap<string, string> = new Map(),
) => {
  const { plan, source } = comparison.facts
  const found = await source.document(planned.source, planned.id)
  const document = found && readDocument(planned.source, found)
  const [draft] = document ? convertAccount(document, plan).drafts : []
  if (!document || !draft) return
  const expected = await arrivalOf(comparison, { draft, document })
  const wanted = namesOf(planned)
  const differences = [
    ...differencesOfRecords(publicHalf(expected.doc), doc as Json),
    ...differencesBetween(
      { enabled: draft.facts.enabled, is_reseller: planned.isReseller, 'found by': wanted },
      {
        enabled: hidden.enabled,
        is_reseller: hidden.isReseller,
        'found by': Object.fromEntries(Object.keys(wanted).map((name) => [name, names.get(name)])),
      },
    ),
  ]
  const place = { account_id: planned.id, question: 'account' }
  // Findings of accounts are stored with their copies.
  const record = { draft, document: { ...document, database: copiesDatabase } }
  const reported = await withReason(comparison, record, modified, differencesAt(place, differences))
  comparison.add('account', 1, reported)
}

/** Compares records, names and ancestors of accounts. */
export const compareAccounts = async (comparison: Comparison) => {
  const { stored, records, facts, add } = comparison
  for (const ids of inParts(comparison.accountIds, 200)) {
    const [trees, names] = [await stored.trees(ids), await stored.accountNames(ids)]
    for (const id of ids) {
      const planned = facts.plan.accounts.get(id)
      const record = await records.find(id, accountKind, id)
      if (!planned) continue
      if (!record) {
        add('account', 1, [{ account_id: id, question: 'account', what: 'missing' }])
        continue
      }
      await compareRecord(comparison, planned, record as AccountRecord, names.get(id))
      const tree = treeOf(facts.plan, id).join(' ')
      const [own, above] = [(record as AccountRecord).hidden.tree, trees.get(id) ?? []]
      compareValues(
        comparison,
        { account_id: id, question: 'tree' },
        { tree, 'accounts above it': tree },
        { tree: own.join(' '), 'accounts above it': above.join(' ') },
      )
    }
  }
}

/** No other accounts, and one root. */
export const checkOtherAccounts = async ({ stored, run, facts, add }: Comparison) => {
  for await (const ids of stored.accounts()) {
    const others = ids.filter((id) => !facts.plan.accounts.has(id))
    // Accounts that were deleted there meanwhile are already reported.
    const known = await run.known(copiesDatabase, others)
    const extra = others.filter((id) => !known.has(id))
    add(
      'account',
      0,
      extra.map((id) => ({ account_id: id, question: 'account', what: 'extra' })),
    )
  }
  const place = { question: 'tree', what: 'accounts without a parent' }
  const roots = await stored.rootCount()
  add('tree', 1, roots === 1 ? [] : [{ ...place, there: 1, here: roots }])
}
