import type { AccountHidden } from '../../../src/auth/identity.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import { copiesDatabase } from '../../conversions/accounts/seen.ts'
import { accountDatabase } from '../../documents/database-names.ts'
import { derivedId } from '../../documents/derived-id.ts'
import { type LeavingDocument, type OwnRecord, plainDocument, present, stamped } from '../document.ts'

export interface LeavingAccount {
  record: OwnRecord
  hidden: AccountHidden
  resellerId: string
  /** In clear. */
  apiKey: string
}

/** The packet limits of an account or a device, which are documents of their own there. */
export const packetLimits = (
  { accountId, id, created, modified }: OwnRecord,
  ownerType: 'accounts' | 'devices',
  limits: unknown,
): LeavingDocument[] => {
  if (!isObject(limits)) return []
  const database = accountDatabase(accountId)
  const owner = { pvt_owner_id: id, pvt_owner_type: ownerType }
  const fields = { ...limits, ...stamped('rate_limits', accountId, { created, modified }), ...owner }
  return [{ database, id: derivedId(database, id, 'rate_limits'), type: 'rate_limits', fields, files: [] }]
}

const flagsOf = ({ hidden, resellerId, apiKey }: LeavingAccount): Json =>
  present({
    pvt_tree: hidden.tree,
    pvt_reseller: hidden.isReseller,
    pvt_reseller_id: resellerId,
    pvt_enabled: hidden.enabled,
    pvt_superduper_admin: hidden.isSuperduper,
    pvt_wnm_allow_additions: hidden.allowsNumberAdditions,
    pvt_trial_expires: hidden.trialExpires,
    pvt_api_key: apiKey,
  })

/** An account: its document, the copy of that, and its packet limits. */
export const leavingAccount = (account: LeavingAccount): LeavingDocument[] => {
  const { record } = account
  const { rate_limits: limits, ...doc } = record.doc
  const own = plainDocument('account', { ...record, doc }, { more: flagsOf(account) })
  return [
    own,
    { ...own, database: copiesDatabase, type: 'account (copy)' },
    ...packetLimits(record, 'accounts', limits),
  ]
}

/** How a Kazoo finds its master account. */
export const leavingMaster = (
  { accountId, created, modified }: OwnRecord,
  setting: Json | undefined,
): LeavingDocument => {
  const section = isObject(setting?.default) ? setting.default : {}
  return {
    database: 'system_config',
    id: 'accounts',
    type: 'config',
    fields: {
      ...setting,
      default: { ...section, master_account_id: accountId },
      ...stamped('config', accountId, { created, modified }, 'system_config'),
    },
    files: [],
  }
}
