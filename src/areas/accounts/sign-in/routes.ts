import {
  accountAdminPerson,
  anyAdminPerson,
  anyone,
  anyToken,
  impersonator,
  superduper,
  userOrAdmin,
} from '../../../auth/policies.ts'
import type { Tokens } from '../../../auth/tokens.ts'
import { collectionListing } from '../../../http/response/listing.ts'
import { qrPng } from '../../../http/response/qr-png.ts'
import { answer, FileResponse, ListResponse } from '../../../http/response/responses.ts'
import { type Call, del, get, post, put, type Route } from '../../../http/route.ts'
import {
  actionRequired,
  badIdentifier,
  badIdentifierList,
  failure,
  forbidden,
  invalidAction,
  invalidCredentials,
  missingParameter,
  notConfigured,
  preconditionFailed,
  validationError,
} from '../../../lib/failure.ts'
import { anyObject, anyText, must, open } from '../../../lib/schema.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { DepsOf } from '../../area.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { SignInClient } from '../login-attempts/operations.ts'
import { PasskeyOptions, PasskeySignIn } from '../multi-factor/passkeys/schema.ts'
import { accountIsLocked } from '../security/failures.ts'
import type { Users } from '../users/operations.ts'
import { notRenewable } from './failures.ts'
import type { Credentials, Login } from './login.ts'
import type { Impersonate, IssuedSession, SignIn } from './operations.ts'
import type { Recovery } from './recovery.ts'
import { methodMeant, methodProblems, sentence } from './rules.ts'
import {
  ApiAuth,
  Enrolment,
  LoginResult,
  RecoveryAnswer,
  RecoveryRequest,
  Redemption,
  TokenInfo,
  UserAuth,
} from './schema.ts'

const KeyRow = open({ id: must(anyText()) }, { title: 'Signing key row' })
const Key = open(
  { id: must(anyText()), public_key_pem: must(anyText()) },
  { title: 'Signing key', description: 'The public keys that verify tokens' },
)

const onKeys = '/v2/auth/keys'
const oneKey = `${onKeys}/{key_id}` as const
const pem = 'application/x-pem-file'

const keyRoutes = (tokens: Tokens): Route[] => {
  const keys = tokens.signingKeys
  const subject = ({ path }: { path: { key_id: string } }) => keys.get(systemScope, path.key_id)

  return [
    get(onKeys, {
      summary: 'List the keys that tokens are signed with',
      allow: anyAdminPerson,
      answers: KeyRow,
      list: true,
      run: () => new ListResponse(collectionListing(keys, systemScope)),
    }),
    get(oneKey, {
      summary: 'Read a public key',
      record: { kind: 'signing_key', owner: 'nobody' },
      allow: anyAdminPerson,
      subject,
      answers: Key,
      produces: [pem],
      run: ({ subject: key, request }) => {
        const { public_key_pem } = key.doc
        if (request.accepts === pem) return new FileResponse(Buffer.from(public_key_pem), pem)
        return answer({ data: { id: key.id, public_key_pem }, revision: key.revision })
      },
    }),
    put(oneKey, {
      summary: 'Rotate the signing key; tokens of older keys stay valid',
      allow: superduper,
      subject,
      answers: Key,
      fails: [actionRequired, invalidAction],
      run: async (call) => {
        assertAction(call, 'reset_private_key')
        const key = await tokens.rotateSigningKey(call.author)
        return answer({ data: { id: key.id, public_key_pem: key.doc.public_key_pem } })
      },
    }),
  ]
}

// No header that could be a credential.
const shownHeaders = ['host', 'origin', 'referer', 'user-agent', 'accept-language', 'x-forwarded-for']
const longestHeader = 512

const visitOf = ({ author, request }: Pick<Call, 'author' | 'request'>): SignInClient => {
  const headers: Record<string, string> = {}
  for (const name of shownHeaders) {
    const value = request.header(name)
    if (value !== undefined) headers[name] = value.slice(0, longestHeader)
  }
  return { author, clientAddress: request.clientAddress, peerAddress: request.peerAddress, headers }
}

/** The `action` of a request, next to its data. */
const assertAction = (call: Pick<Call, 'request'>, ...actions: string[]) => {
  const action = call.request.value('action')
  if (action === undefined) throw failure(actionRequired, {})
  if (!actions.includes(String(action))) throw failure(invalidAction, {})
  return String(action)
}

interface Deps extends DepsOf<'tokens'> {
  signIn: SignIn
  login: Login
  impersonate: Impersonate
  accounts: Accounts
  users: Users
}

/** The response to a sign-in, which no cache may store. */
const opened = ({ token, result }: IssuedSession) =>
  answer({ data: result, status: 201, authToken: token, headers: noStore })

/** `method` is in the data, next to it, or in the query. */
const methodIn = ({ request }: Pick<Call, 'request'>) => request.value('method')

const credentialsIn = (call: Pick<Call<string, UserAuth>, 'data' | 'request'>): Credentials => ({
  ...call.data,
  host: call.request.header('host'),
  method: methodMeant(methodIn(call)),
})

const noStore = { 'cache-control': 'no-store' }
const byUser = { allow: anyone, price: { is: 'signIn', setting: 'user_auth_tokens' } } as const
const signingIn = {
  ...byUser,
  tellsOnce: true,
  fails: [invalidCredentials, forbidden, validationError, accountIsLocked, notConfigured],
} as const

const byDigest = {
  body: UserAuth,
  query: { method: 'Digest method, md5 or sha; default: md5' },
  judge: async (call: Pick<Call, 'request'>) => methodProblems(methodIn(call)),
} as const

const qrCode = (url: string, type: string) =>
  type === 'image/png'
    ? new FileResponse(qrPng(url), type, noStore)
    : answer({ data: [{ qr_url: url }], headers: noStore })

export const signInRoutes = ({ signIn, login, impersonate, tokens, accounts, users }: Deps): Route[] => [
  put('/v2/user_auth', {
    summary: 'Sign in with the digest of a user name and password',
    ...signingIn,
    ...byDigest,
    answers: LoginResult,
    run: async (call) => opened(await login.logIn(visitOf(call), credentialsIn(call))),
  }),
  put('/v2/multi_factor/qrcode', {
    summary:
      'Set up an authenticator app: read the QR code, then send the first code for a session and recovery codes',
    ...signingIn,
    ...byDigest,
    answers: Enrolment,
    produces: ['image/png'],
    run: async (call) => {
      const enrolment = await login.enrol(visitOf(call), credentialsIn(call))
      return 'url' in enrolment ? qrCode(enrolment.url, call.request.accepts) : opened(enrolment)
    },
  }),
  put('/v2/multi_factor/passkeys/options', {
    summary: 'Read the options for a sign-in with any passkey',
    allow: anyone,
    answers: PasskeyOptions,
    fails: [notConfigured],
    run: async ({ request }) =>
      answer({ data: await login.passkeyOptions(request.header('host')), status: 200, headers: noStore }),
  }),
  put('/v2/multi_factor/passkeys', {
    summary: 'Sign in with a passkey alone',
    ...signingIn,
    body: PasskeySignIn,
    answers: LoginResult,
    run: async (call) =>
      opened(await login.byPasskey(visitOf(call), call.request.header('host'), call.data.credential)),
  }),
  put('/v2/accounts/{account_id}/users/{user_id}/user_auth', {
    summary: 'Sign in as a user',
    allow: impersonator,
    namedKeys: 'none',
    subject: users.inPath,
    tellsOnce: true,
    answers: LoginResult,
    fails: [actionRequired, invalidAction, badIdentifier, validationError],
    run: async (call) => {
      assertAction(call, 'impersonate_user')
      return opened(await impersonate(visitOf(call), call.actor, call.account, call.subject))
    },
  }),
  get('/v2/user_auth/{auth_token}', {
    summary: 'Read the token of this request',
    allow: anyToken,
    namedKeys: 'any',
    answers: LoginResult,
    run: ({ actor, path }) => {
      if (path.auth_token !== actor.token) throw failure(invalidCredentials, {})
      return signIn.tokenInfo(actor)
    },
  }),
  put('/v2/api_auth', {
    summary: 'Sign in with an API key',
    allow: anyone,
    price: { is: 'signIn', setting: 'api_auth_tokens' },
    body: ApiAuth,
    tellsOnce: true,
    answers: LoginResult,
    fails: [badIdentifierList, invalidCredentials, forbidden, validationError],
    run: async (call) => opened(await login.byApiKey(visitOf(call), call.data.api_key)),
  }),
  get('/v2/token_auth', {
    summary: 'Read the token of this request',
    allow: anyToken,
    namedKeys: 'any',
    answers: LoginResult,
    run: ({ actor }) => signIn.tokenInfo(actor),
  }),
  del('/v2/token_auth', {
    summary: 'Sign out: the token of this request ends',
    allow: anyToken,
    namedKeys: 'any',
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
    fails: [missingParameter, invalidCredentials],
    run: async ({ query }) =>
      answer({
        data: await signIn.inspect(query.get('token'), 'params'),
        headers: { 'cache-control': 'private, no-store' },
      }),
  }),
  post('/v2/auth/tokeninfo', {
    summary: 'Inspect a token',
    allow: anyone,
    body: TokenInfo,
    answers: LoginResult,
    fails: [missingParameter, invalidCredentials],
    run: ({ data }) => signIn.inspect(data.token, 'request'),
  }),
  ...keyRoutes(tokens),
  put('/v2/auth', {
    summary: 'Renew the token of this request, or end all sessions of the system',
    allow: anyToken,
    namedKeys: 'none',
    tellsOnce: true,
    answers: anyObject(),
    fails: [actionRequired, invalidAction, forbidden, notRenewable, preconditionFailed],
    run: async (call) => {
      const action = assertAction(call, 'reset_signature_secret', 'refresh_token')
      if (action === 'refresh_token') return opened(await signIn.renew(call.actor))
      if (!superduper.allows(call.actor, undefined, {}))
        throw failure(forbidden, { cause: `may be called by: ${superduper.name}` })
      await tokens.resetSystemSecret(call.author)
      return {}
    },
  }),
  put('/v2/accounts/{account_id}/auth', {
    summary: 'End all sessions of an account',
    allow: accountAdminPerson,
    answers: anyObject(),
    fails: [actionRequired, invalidAction],
    run: async (call) => {
      assertAction(call, 'reset_signature_secret')
      await accounts.resetSignatureSecret(call.author, call.account)
      return {}
    },
  }),
  put('/v2/accounts/{account_id}/users/{user_id}/auth', {
    summary: 'End all sessions of a user',
    allow: userOrAdmin,
    subject: users.inPath,
    answers: anyObject(),
    fails: [actionRequired, invalidAction, badIdentifier],
    run: async (call) => {
      assertAction(call, 'reset_signature_secret')
      await users.resetSignatureSecret(call.author, call.subject)
      return {}
    },
  }),
]

const onRecovery = '/v2/user_auth/recovery'

export const recoveryRoutes = (recovery: Recovery): Route[] => [
  put(onRecovery, {
    summary: 'Request an email with a link to set a new password',
    ...byUser,
    body: RecoveryRequest,
    answers: RecoveryAnswer,
    judge: ({ data }) => recovery.judge(data),
    run: async ({ author, data }) => {
      await recovery.request(author, data)
      return sentence
    },
  }),
  post(onRecovery, {
    summary: 'Sign in with the reset ID of a recovery email',
    ...byUser,
    body: Redemption,
    tellsOnce: true,
    answers: LoginResult,
    run: async (call) => {
      const { token, result } = await recovery.redeem(visitOf(call), call.data.reset_id)
      return answer({ data: result, authToken: token, headers: noStore })
    },
  }),
]
