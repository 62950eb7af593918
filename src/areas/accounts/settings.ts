import { Type } from 'typebox'
import { choice } from '../../lib/schema.ts'
import { flag, section } from '../../settings/keys.ts'

const accounts = section({
  account_realm_suffix: Type.String({ default: 'sip.2600hz.com', minLength: 1, maxLength: 240 }),
  ensure_unique_name: flag(true, 'Refuse an account name that is taken'),
  allow_sibling_listing: flag(true, 'Let accounts list their siblings'),
  allow_subaccounts_for_direct: flag(true, 'Let clients directly under the master account have sub-accounts'),
  allow_move: choice(['superduper', 'tree'], { default: 'superduper' }),
  default_timezone: Type.String({ default: 'America/Los_Angeles' }),
})

export const accountsSettings = { 'crossbar.accounts': accounts }

type Owned = typeof accountsSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
