import { credentialsOf } from './credentials.ts'
import { isObject } from './envelope.ts'
import type { Envelope } from './errors.ts'
import { CrosspointError } from './errors.ts'
import type { Requests } from './request.ts'
import { type Session, sessionOf } from './session.ts'
import type { Sessions } from './sessions.ts'

/** The account that a user belongs to: by its name or id, or by its realm. */
export type AccountNamed = { account: string } | { realm: string }

/** Credentials without a second factor: an API key, or a token of another program. */
export type KeyProof = { apiKey: string } | { token: string }

export type Proof =
  | ({ username: string; password: string } & AccountNamed)
  /** `credentialsOf(username, password)`, for programs that must not store the password. */
  | ({ credentials: string } & AccountNamed)
  | KeyProof

export type RecoveryRequest = {
  username: string
  /** URL of the link in the email; `recovery=<id>` is added. */
  uiUrl: string
} & AccountNamed

export interface SignedIn {
  state: 'signed_in'
  session: Session
  /** Returned once, with the first code of a second factor: each replaces a code once. */
  recoveryCodes?: readonly string[]
}

/** The password was right, and the account asks for a second factor. */
export interface SecondFactorNeeded {
  state: 'second_factor_needed'
  /** False: the user has to set one up first, with `enrol`. */
  isEnrolled: boolean
  /** The passkey request for the browser, if the user has passkeys. */
  passkey: unknown
  /** The `otpauth://` address for an authenticator app. */
  enrol(): Promise<string>
  /** A code, a recovery code, or what a passkey has answered, as JSON. A wrong one may be followed by another. */
  answer(code: string): Promise<SignedIn>
}

const isId = (text: string) => /^[0-9a-f]{32}$/.test(text)

const accountFields = (named: AccountNamed) => {
  if ('realm' in named) return { account_realm: named.realm }
  const { account } = named
  return isId(account) ? { account_name: account, account_id: account } : { account_name: account }
}

const textsIn = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((text) => typeof text === 'string') : undefined

const challengeIn = (error: unknown) => {
  if (!(error instanceof CrosspointError) || error.status !== 401) return undefined
  const data = error.envelope?.data
  const challenge = isObject(data) ? data.multi_factor_request : undefined
  return isObject(challenge) ? challenge : undefined
}

const qrUrlIn = (data: unknown) => {
  const [first]: unknown[] = Array.isArray(data) ? data : []
  const url = isObject(first) ? first.qr_url : undefined
  if (typeof url === 'string') return url
  throw new CrosspointError({
    status: 200,
    kind: 'no_qr_url',
    message: 'the answer has no address for an app',
  })
}

interface Tools {
  /** Without a session. */
  request: Requests['request']
  sessions: Sessions
  now: () => number
}

/** The ways in and out. */
export const createSignIn = ({ request, sessions, now }: Tools) => {
  const opened = (envelope: Envelope, again?: () => Promise<unknown>): SignedIn => {
    const { data, auth_token: token } = envelope
    const session = sessionOf(token, data, now())
    if (!session)
      throw new CrosspointError({
        status: 200,
        kind: 'no_session',
        message: 'the answer opens no session',
        envelope,
      })
    sessions.open(session, again)
    const recoveryCodes = isObject(data) ? textsIn(data.recovery_codes) : undefined
    return { state: 'signed_in', session, ...(recoveryCodes ? { recoveryCodes } : {}) }
  }

  const put = async (path: string, data: object) => (await request({ method: 'PUT', path, data })).envelope

  const byCredentials = async (data: object): Promise<SignedIn | SecondFactorNeeded> => {
    try {
      return opened(await put('/v2/user_auth', data))
    } catch (error) {
      const challenge = challengeIn(error)
      if (!challenge) throw error
      return {
        state: 'second_factor_needed',
        isEnrolled: challenge.enrolled === true,
        passkey: isObject(challenge.passkey) ? challenge.passkey.public_key : undefined,
        enrol: async () => qrUrlIn((await put('/v2/multi_factor/qrcode', data)).data),
        answer: async (code) => opened(await put('/v2/user_auth', { ...data, multi_factor_response: code })),
      }
    }
  }

  const byApiKey = async (apiKey: string): Promise<SignedIn> =>
    // Sessions of API keys are not renewed but opened again with the key.
    opened(await put('/v2/api_auth', { api_key: apiKey }), () => byApiKey(apiKey))

  function signIn(proof: KeyProof): Promise<SignedIn>
  function signIn(proof: Proof): Promise<SignedIn | SecondFactorNeeded>
  async function signIn(proof: Proof): Promise<SignedIn | SecondFactorNeeded> {
    if ('apiKey' in proof) return byApiKey(proof.apiKey)
    if ('token' in proof) return { state: 'signed_in', session: await sessions.openToken(proof.token) }
    const credentials =
      'credentials' in proof ? proof.credentials : credentialsOf(proof.username, proof.password)
    return byCredentials({ credentials, ...accountFields(proof) })
  }

  return {
    /** Opens a session, which calls are made in from now on. */
    signIn,

    /**
     * Signs in with a passkey alone. `ask` is given what the server asks (`PublicKeyCredentialRequestOptionsJSON`) and
     * answers with the credential as JSON.
     */
    async signInByPasskey(ask: (publicKey: unknown) => Promise<object>): Promise<SignedIn> {
      const { data } = await put('/v2/multi_factor/passkeys/options', {})
      const credential = await ask(isObject(data) ? data.public_key : undefined)
      return opened(await put('/v2/multi_factor/passkeys', { credential }))
    },

    /** Opens the session of another sign-in response, such as impersonation. */
    signInWith: (envelope: Envelope): SignedIn => opened(envelope),

    /** With the `recovery` that the link of a mail carries. The session is good for choosing a password. */
    async signInByRecovery(resetId: string): Promise<SignedIn> {
      const data = { reset_id: resetId }
      const path = '/v2/user_auth/recovery'
      return opened((await request({ method: 'POST', path, data })).envelope)
    },

    /** Has a mail sent that leads to a new password. The answer is the same whether there is such a user or not. */
    async requestRecovery({ username, uiUrl, ...named }: RecoveryRequest): Promise<void> {
      await put('/v2/user_auth/recovery', { username, ui_url: uiUrl, ...accountFields(named) })
    },

    /** Ends the session here and on the server. If the server is unreachable, it ends here only. */
    signOut: (): Promise<void> => sessions.close(),
  }
}
