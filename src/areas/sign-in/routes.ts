import { accountAdminPerson, anyone, anyToken, superduper, userOrAdmin } from '../../auth/policies.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { answer } from '../../http/answers.ts'
import { type Call, del, get, post, put, type Route } from '../../http/route.ts'
import { failure } from '../../lib/failure.ts'
import { anyObject } from '../../lib/schema.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { Users } from '../users/operations.ts'
import type { Session, SignIn } from './operations.ts'
import { ApiAuth, LoginResult, TokenInfo, UserAuth } from './schema.ts'

interface Tools {
  signIn: SignIn
  tokens: Tokens
  accounts: Accounts
  users: Users
}

const opened = ({ token, result }: Session) => answer({ data: result, status: 201, authToken: token })

/** These paths change by an `action` beside the data. */
const assertAction = (call: Call, ...actions: string[]) => {
  const action = call.request.value('action')
  if (action === undefined) throw failure('action_required', {})
  if (!actions.includes(String(action))) throw failure('invalid_action', {})
  return String(action)
}

export const signInRoutes = ({ signIn, tokens, accounts, users }: Tools): Route[] => [
  put('/v2/user_auth', {
    summary: 'Sign in with the digest of a user name and password',
    allow: anyone,
    price: 'user_auth_tokens',
    body: UserAuth,
    answers: LoginResult,
    fails: ['invalid_credentials', 'validation_error'],
    run: async ({ data, envelope }) => {
      const method = typeof envelope.method === 'string' ? envelope.method : data.method
      const { account, user } = await signIn.identify({ ...data, method } as never)
      return opened(await signIn.openSession(account, user))
    },
  }),
  get('/v2/user_auth/{auth_token}', {
    summary: 'Read the token of this request',
    allow: anyToken,
    answers: LoginResult,
    run: ({ actor, path }) => {
      if (path.auth_token !== actor.token) throw failure('invalid_credentials', {})
      return signIn.tokenInfo(actor)
    },
  }),
  put('/v2/api_auth', {
    summary: 'Sign in with an API key',
    allow: anyone,
    price: 'api_auth_tokens',
    body: ApiAuth,
    answers: LoginResult,
    fails: ['bad_identifier_list', 'validation_error'],
    run: async ({ data }) => opened(await signIn.byApiKey(data.api_key)),
  }),
  get('/v2/token_auth', {
    summary: 'Read the token of this request',
    allow: anyToken,
    answers: LoginResult,
    run: ({ actor }) => signIn.tokenInfo(actor),
  }),
  del('/v2/token_auth', {
    summary: 'Log out: the token of this request ends',
    allow: anyToken,
    answers: anyObject(),
    run: async ({ author, actor }) => {
      await tokens.revoke(author, actor)
      return {}
    },
  }),
  get('/v2/auth/tokeninfo', {
    summary: 'Inspect a token',
    allow: anyone,
    query: { token: 'The token' },
    answers: LoginResult,
    fails: ['missing_parameter', 'invalid_credentials'],
    run: ({ query }) => signIn.inspect(query.get('token'), 'params'),
  }),
  post('/v2/auth/tokeninfo', {
    summary: 'Inspect a token',
    allow: anyone,
    body: TokenInfo,
    answers: LoginResult,
    fails: ['missing_parameter', 'invalid_credentials'],
    run: ({ data }) => signIn.inspect(data.token, 'request'),
  }),
  put('/v2/auth', {
    summary: 'Renew the token of this request, or end all sessions of the system',
    allow: anyToken,
    answers: anyObject(),
    fails: ['action_required', 'invalid_action', 'forbidden', 'not_renewable', 'precondition_failed'],
    run: async (call) => {
      const action = assertAction(call, 'reset_signature_secret', 'refresh_token')
      if (action === 'refresh_token') return opened(await signIn.renew(call.actor))
      if (!superduper.allows(call.actor, undefined, {})) throw failure('forbidden', {})
      await tokens.resetSystemSecret(call.author)
      return {}
    },
  }),
  put('/v2/accounts/{account_id}/auth', {
    summary: 'End all sessions of an account',
    allow: accountAdminPerson,
    answers: anyObject(),
    fails: ['action_required', 'invalid_action'],
    run: async (call) => {
      assertAction(call, 'reset_signature_secret')
      await accounts.resetSignatureSecret(call.author, call.account)
      return {}
    },
  }),
  put('/v2/accounts/{account_id}/users/{user_id}/auth', {
    summary: 'End all sessions of a user',
    allow: userOrAdmin,
    subject: ({ path }) => users.collection.get(path.account_id, path.user_id),
    answers: anyObject(),
    fails: ['action_required', 'invalid_action', 'bad_identifier'],
    run: async (call) => {
      assertAction(call, 'reset_signature_secret')
      await users.resetSignatureSecret(call.author, call.subject)
      return {}
    },
  }),
]
