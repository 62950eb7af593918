import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { type ApiResponse, one, oneRemembered } from '../../../http/response/responses.ts'
import type { Json } from '../../../lib/json.ts'
import type { Accounts } from './operations.ts'
import { completeCallerId } from './rules.ts'
import { accountsBelow, type ShownAccount } from './store.ts'

const billingMode = (resellerId: string, callerId: string, masterId: string) => {
  if (resellerId === callerId) return 'limits_only'
  return resellerId === masterId ? 'normal' : 'manual'
}

/** Read-only values of an account as a caller sees them. */
const readOnlyValues = (account: AccountRecord, resellerId: string, actor: Actor) => ({
  enabled: account.hidden.enabled,
  created: account.created,
  modified: account.modified,
  is_reseller: account.hidden.isReseller,
  reseller_id: resellerId,
  superduper_admin: account.hidden.isSuperduper,
  wnm_allow_additions: account.hidden.allowsNumberAdditions,
  billing_mode: billingMode(resellerId, actor.accountId, account.hidden.tree[0] ?? account.id),
})

/** Read-only values in `data` and in `metadata`, and an ETag that changes with everything shown. */
const accountExtras = (
  account: AccountRecord,
  values: ReturnType<typeof readOnlyValues>,
  unsaid: Json,
  trial: Json = {},
) => ({
  readOnly: {
    ...values,
    ...unsaid,
    ...trial,
    knm_allow_additions: values.wnm_allow_additions,
    descendants_count: account.tally,
    ...('available_apps' in account.doc ? {} : { available_apps: [] }),
    ...('blacklists' in account.doc ? {} : { blacklists: [] }),
    ...('caller_id' in account.doc ? {} : { caller_id: completeCallerId(undefined) }),
  },
  metadata: { ...values },
  etag: [
    account.revision,
    account.tally,
    values.reseller_id.slice(-8),
    values.billing_mode,
    ...Object.values(unsaid),
    ...Object.values(trial),
  ].join('-'),
})

/** The account as a PATCH changes it. */
export const changeableDoc = ({ doc, hidden: { enabled, trialExpires } }: AccountRecord) => ({
  ...doc,
  enabled,
  ...(trialExpires === undefined ? {} : { trial_expires: trialExpires }),
})

export const childRow = ({ rowText, tally }: ShownAccount) =>
  `${rowText.slice(0, -1)},"descendants_count":${tally}}`

/** The list row of a descendant, with the accounts above it. */
export const descendantRow = ({ rowText, treeText }: ShownAccount) =>
  `${rowText.slice(0, -1)},"tree":${treeText}}`

type ListedAccount = ShownAccount & { account?: AccountRecord }

const listedAccount = (account: AccountRecord): ListedAccount => {
  const { id, sortKey, rowText, tally, hidden } = account
  return { id, sortKey, rowText, tally, treeText: JSON.stringify(hidden.tree), account }
}

const fullRow = (account: AccountRecord): Json => ({
  ...changeableDoc(account),
  id: account.id,
  created: account.created,
  modified: account.modified,
  is_reseller: account.hidden.isReseller,
  superduper_admin: account.hidden.isSuperduper,
  wnm_allow_additions: account.hidden.allowsNumberAdditions,
  descendants_count: account.tally,
})

/** Accounts as responses contain them. */
export const createAccountViews = (accounts: Accounts) => {
  const valuesFor = async (account: AccountRecord, actor: Actor) =>
    readOnlyValues(account, await accounts.resellerOf(account), actor)

  const shown = async (account: AccountRecord, actor: Actor) =>
    accountExtras(
      account,
      await valuesFor(account, actor),
      await accounts.unsaid(account),
      accounts.trialOf(account),
    )

  return {
    shown,

    async view(account: AccountRecord, actor: Actor): Promise<ApiResponse> {
      if (account.hidden.trialExpires !== undefined) return one(account, await shown(account, actor))
      const values = await valuesFor(account, actor)
      const unsaid = await accounts.unsaid(account)
      const key = `${values.reseller_id}/${values.billing_mode}/${Object.values(unsaid).join('/')}`
      return oneRemembered(account, key, () => accountExtras(account, values, unsaid))
    },

    async viewWithKey(account: AccountRecord, actor: Actor) {
      const { etag, ...extras } = await shown(account, actor)
      const metadata = { ...extras.metadata, api_key: accounts.apiKeyOf(account) }
      return one(account, { ...extras, metadata, etag: `${etag}-key` })
    },

    tree: (
      { id: ancestorId }: AccountRecord,
      direct: boolean,
      row: (account: ShownAccount) => string,
    ): Listing<ListedAccount> => ({
      async page({ whole, ...request }) {
        const page = { ...request, ancestorId, direct }
        return whole ? (await accounts.page(page)).map(listedAccount) : accounts.shown(page)
      },
      fitting: async ({ whole, ...request }, bytes) =>
        whole ? accounts.fitting({ ...request, ancestorId, direct }, bytes) : request.limit,
      cursor: (found) => [found.sortKey, found.id],
      row,
      // Called only for accounts that were read whole.
      record: ({ account }) => fullRow(account as AccountRecord),
      sources: { records: [[ancestorId, accountsBelow]], view: [] },
    }),
  }
}
