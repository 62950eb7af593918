import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const accountsSection = section('Defaults of new accounts, and permissions to move and list accounts', {
  account_realm_suffix: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 240,
      description: 'Suffix of generated realms; absent: the realm of the master account',
    }),
  ),
  ensure_unique_name: flag(true, 'Refuse an account name that another account has'),
  allow_sibling_listing: flag(true, 'Let accounts list their siblings'),
  allow_subaccounts_for_direct: flag(
    true,
    'Allow direct sub-accounts of the master account to have sub-accounts',
  ),
  allow_move: choice(['superduper', 'tree'], {
    default: 'superduper',
    description:
      'Who may move accounts: only the operator, or also an account above both the account and its new parent',
  }),
  default_timezone: Type.Optional(
    Type.String({
      description: 'Timezone of accounts that have none and inherit none; absent: that of the master account',
    }),
  ),
})

export const accountsSettings = settingsDocument('crossbar.accounts', accountsSection)
