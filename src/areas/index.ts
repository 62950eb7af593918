import type { Keyring } from '../auth/keyring.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Route } from '../http/route.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../storage/store.ts'
import { createAccounts } from './accounts/operations.ts'
import { accountRoutes } from './accounts/routes.ts'
import { createSignIn } from './sign-in/operations.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { createUsers } from './users/operations.ts'
import { userRoutes } from './users/routes.ts'

/** What areas are made of. */
export interface AreaTools {
  store: Store
  settings: Settings
  keyring: Keyring
  tokens: Tokens
}

/** The operations of all areas, and their routes. A new area is a line in each half. */
export const createAreas = (tools: AreaTools) => {
  const { tokens } = tools
  const accounts = createAccounts(tools)
  const users = createUsers(tools)
  const signIn = createSignIn({ ...tools, accounts, users })
  const routes: Route[] = [
    ...accountRoutes(accounts),
    ...userRoutes(users),
    ...signInRoutes({ signIn, tokens, accounts, users }),
  ]
  return { accounts, users, signIn, routes }
}

export type Areas = ReturnType<typeof createAreas>
