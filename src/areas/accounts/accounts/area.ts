import { area } from '../../area.ts'
import { newAccountNotice } from './notices.ts'
import { createAccounts } from './operations.ts'
import { accountRoutes } from './routes.ts'
import { Account } from './schema.ts'
import { accountsSettings } from './settings.ts'

export const accountsArea = area({
  name: 'accounts',
  kinds: { account: 'accounts', first_start: 'the first start of the store' },
  describes: { accounts: 'Customers, resellers and the tree of accounts.' },
  settings: [accountsSettings],
  notices: [newAccountNotice],
  create(tools) {
    const accounts = createAccounts(tools)
    return {
      offers: accounts,
      routes: accountRoutes(accounts),
      counts: [accounts.counted],
      schemas: { accounts: Account },
    }
  },
})
