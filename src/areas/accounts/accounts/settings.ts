import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const accountsSection = section('What accounts are made with, and who may move and list them', {
  account_realm_suffix: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 240,
      description: 'What realms that are made up end with; absent: the realm of the master account',
    }),
  ),
  ensure_unique_name: flag(true, 'Refuse an account name that is taken'),
  allow_sibling_listing: flag(true, 'Let accounts list their siblings'),
  allow_subaccounts_for_direct: flag(true, 'Let clients directly under the master account have sub-accounts'),
  allow_move: choice(['superduper', 'tree'], {
    default: 'superduper',
    description:
      'Who moves accounts: the operator alone, or also whoever is above both the account and its new parent',
  }),
  default_timezone: Type.Optional(
    Type.String({
      description:
        'Of accounts that say nothing, nor a reseller above them; absent: that of the master account',
    }),
  ),
})

export const accountsSettings = settingsDocument('crossbar.accounts', accountsSection)
