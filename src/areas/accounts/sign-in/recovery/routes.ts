import { anyone } from '../../../../auth/policies.ts'
import { answer } from '../../../../http/answer/answers.ts'
import { post, put, type Route } from '../../../../http/route.ts'
import { LoginResult } from '../schema.ts'
import { visitOf } from '../visit.ts'
import type { Recovery } from './operations.ts'
import { sentence } from './rules.ts'
import { RecoveryAnswer, RecoveryRequest, Redemption } from './schema.ts'

const path = '/v2/user_auth/recovery'

export const recoveryRoutes = (recovery: Recovery): Route[] => [
  put(path, {
    summary: 'Ask for a mail that leads to a new password',
    allow: anyone,
    price: { is: 'signIn', setting: 'user_auth_tokens' },
    body: RecoveryRequest,
    answers: RecoveryAnswer,
    judge: ({ data }) => recovery.judge(data),
    run: async ({ author, data }) => {
      await recovery.request(author, data)
      return sentence
    },
  }),
  post(path, {
    summary: 'Sign in with the reset id of a mail',
    allow: anyone,
    price: { is: 'signIn', setting: 'user_auth_tokens' },
    body: Redemption,
    tellsOnce: true,
    answers: LoginResult,
    run: async (call) => {
      const { token, result } = await recovery.redeem(visitOf(call), call.data.reset_id)
      return answer({ data: result, authToken: token, headers: { 'cache-control': 'no-store' } })
    },
  }),
]
