import { anyText, choice, list, must, open } from '../../../lib/schema.ts'
import { AuthModules } from '../../../settings/auth-modules.ts'

/** How people may sign in to an account. */
export const SecuritySettings = open({ auth_modules: AuthModules }, { title: 'Security settings' })

export const SecuritySettingsRecord = open(
  { id: must(anyText()), auth_modules: AuthModules },
  { title: 'Security settings record' },
)

const Layer = open({ auth_modules: must(AuthModules) })

export const SecurityView = open(
  {
    account: must(Layer),
    inherited_config: must(Layer),
  },
  { title: 'Security settings of an account, and what it inherits' },
)

export const AvailableMethods = open(
  { available_auth_methods: must(list(anyText())) },
  { title: 'Ways to sign in that have settings' },
)

export const LockStatus = open(
  {
    status: must(
      choice(['account is locked', 'account is not locked', 'account is unlocked', 'account was not locked']),
    ),
  },
  { title: 'Login lock' },
)
