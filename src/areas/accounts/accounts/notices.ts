import { body, macro, notice } from '../../../mail/notices.ts'

export const newAccountNotice = notice('new_account', {
  friendlyName: 'New account',
  category: 'account',
  to: 'admins',
  macros: {
    'new_account.id': macro('New account id', 'The new account', '0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
    'new_account.name': macro('New account name', 'The new account', 'Acme Branch'),
    'new_account.realm': macro('New account realm', 'The new account', 'branch.acme.example'),
  },
  subject: 'New account {{new_account.name}}',
  ...body(
    'The account {{new_account.name}} was created below {{account.name}}.',
    'Realm: {{new_account.realm}}\nId: {{new_account.id}}',
  ),
})
