import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import type { Json } from '../../../lib/json.ts'
import { billingMode } from './rules.ts'
import type { ShownAccount } from './store.ts'

/** Read-only values of an account as a caller sees them: they stand in `data` and in `metadata`. */
export const accountReadOnlyValues = (account: AccountRecord, resellerId: string, actor: Actor) => ({
  enabled: account.hidden.enabled,
  created: account.created,
  modified: account.modified,
  is_reseller: account.hidden.isReseller,
  reseller_id: resellerId,
  superduper_admin: account.hidden.isSuperduper,
  wnm_allow_additions: account.hidden.allowsNumberAdditions,
  billing_mode: billingMode(resellerId, actor.accountId, account.hidden.tree[0] ?? account.id),
})

export type ReadOnlyValues = ReturnType<typeof accountReadOnlyValues>

/** The list row of a child or sibling. */
export const childRow = ({ rowText, tally }: ShownAccount) =>
  `${rowText.slice(0, -1)},"descendants_count":${tally}}`

/** The list row of a descendant: it tells the accounts above. */
export const descendantRow = ({ rowText, treeText }: ShownAccount) =>
  `${rowText.slice(0, -1)},"tree":${treeText}}`

/** An account of which the record is at hand, as a list shows it. */
export const shownOf = (account: AccountRecord): ShownAccount & { account: AccountRecord } => ({
  id: account.id,
  sortKey: account.sortKey,
  rowText: account.rowText,
  tally: account.tally,
  treeText: JSON.stringify(account.hidden.tree),
  account,
})

export const accountJson = (account: AccountRecord): Json => ({
  ...account.doc,
  id: account.id,
  created: account.created,
  modified: account.modified,
  enabled: account.hidden.enabled,
  is_reseller: account.hidden.isReseller,
  superduper_admin: account.hidden.isSuperduper,
  wnm_allow_additions: account.hidden.allowsNumberAdditions,
  descendants_count: account.tally,
  ...(account.hidden.trialExpires === undefined ? {} : { trial_expires: account.hidden.trialExpires }),
})
