import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const accountsSection = section('Defaults of new accounts, and who may move and list accounts', {
  account_realm_suffix: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 240,
      description: 'Suffix of generated realms; absent: the realm of the master account',
    }),
  ),
  ensure_unique_name: flag(true, 'Refuse an account name that is taken'),
  allow_sibling_listing: flag(true, 'Let accounts list their siblings'),
  allow_subaccounts_for_direct: flag(true, 'Let clients directly under the master account have sub-accounts'),
  allow_move: choice(['superduper', 'tree'], {
    default: 'superduper',
    description:
      'Who may move accounts: only the operator, or also an account above both the account and its new parent',
  }),
  default_timezone: Type.Optional(
    Type.String({
      description:
        'For accounts without a value, if no reseller above has one; absent: that of the master account',
    }),
  ),
})

export const accountsSettings = settingsDocument('crossbar.accounts', accountsSection)
