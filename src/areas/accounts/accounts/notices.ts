import { macro, notice } from '../../../mail/notices.ts'

export const newAccountNotice = notice(
  'new_account',
  {
    friendlyName: 'New account',
    category: 'account',
    to: 'admins',
    macros: {
      'new_account.id': macro('New account id', 'The new account', '0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
      'new_account.name': macro('New account name', 'The new account', 'Acme Branch'),
      'new_account.realm': macro('New account realm', 'The new account', 'branch.acme.example'),
    },
  },
  {
    en: [
      'New account {{new_account.name}}',
      'The account {{new_account.name}} was created as a sub-account of {{account.name}}.',
      'Realm: {{new_account.realm}}\nID: {{new_account.id}}',
      'You do not have to do anything.',
    ],
    de: [
      'Neues Konto {{new_account.name}}',
      'Das Konto {{new_account.name}} wurde als Unterkonto von {{account.name}} angelegt.',
      'Realm: {{new_account.realm}}\nID: {{new_account.id}}',
      'Sie müssen nichts tun.',
    ],
  },
)
