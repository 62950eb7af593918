import { area } from '../../area.ts'
import { createLoginAttempts } from './operations.ts'
import { loginAttemptRoutes } from './routes.ts'

export const loginAttemptsArea = area({
  name: 'loginAttempts',
  kinds: { login_attempt: 'attempts to sign in' },
  create(tools) {
    const attempts = createLoginAttempts(tools)
    return { offers: attempts, routes: loginAttemptRoutes({ ...tools, attempts }) }
  },
})
