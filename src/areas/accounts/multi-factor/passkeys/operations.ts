import type { AccountRecord, UserRecord } from '../../../../auth/identity.ts'
import {
  badIdentifier,
  Failure,
  failure,
  invalid,
  invalidCredentials,
  isFailure,
  notConfigured,
} from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { randomHex } from '../../../../lib/ids.ts'
import { describeError } from '../../../../lib/log.ts'
import type { Author, ChangeSet } from '../../../../storage/change-set.ts'
import { readsOf } from '../../../../storage/collection.ts'
import { holderOf, requireRecord } from '../../../../storage/records.ts'
import { committed } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import { passkeySettings } from '../settings.ts'
import { challengeContext, type Purpose, partyAt, type RelyingParty, userHandleOf } from './rules.ts'
import type { Assertion, NewCredential } from './schema.ts'
import { type Challenge, createPasskeyStore, credentialClaim, type Passkey } from './store.ts'
import {
  assertionOptions,
  type IsChallenge,
  readAssertion,
  readNew,
  registrationOptions,
} from './webauthn.ts'

type Deps = DepsOf<'store' | 'settings' | 'keyring' | 'log'>

interface PasskeyHolder {
  account: AccountRecord
  user: UserRecord
}

const rejectedPasskey = () => failure(invalidCredentials, {})

/** What all operations share: the relying party, and challenges. A challenge is sealed text with its purpose and end. */
const relyingParties = ({ store: { clock }, settings, keyring, log }: Deps) => {
  const find = async (host: string | undefined) => partyAt(host, await settings.of(passkeySettings))

  const openedAs = (purpose: Purpose, at: RelyingParty, given: string): Challenge | undefined => {
    try {
      const sealed = Buffer.from(given, 'base64url').toString()
      const challenge: Challenge = JSON.parse(keyring.open(sealed, challengeContext(purpose, at)))
      return challenge.goodUntil > clock.now() ? challenge : undefined
    } catch {
      return undefined
    }
  }

  return {
    find,

    async get(host: string | undefined): Promise<RelyingParty> {
      const found = await find(host)
      if (found) return found
      const message = 'passkeys are not set up for this host: see hosts and rp_id of the settings passkeys'
      throw failure(notConfigured, { message })
    },

    async challengeFor(purpose: Purpose, at: RelyingParty) {
      const { challenge_s: seconds } = await settings.of(passkeySettings)
      const goodUntil = clock.now() + seconds * 1000
      const text = JSON.stringify({ id: randomHex(16), goodUntil } satisfies Challenge)
      return { challenge: keyring.seal(text, challengeContext(purpose, at)), timeoutMs: seconds * 1000 }
    },

    /**
     * Checks a response, and that this server issued its challenge for the purpose. Returns what `read` found, and the
     * challenge, which the caller must consume. The details of a rejected response are logged: clients do not get them.
     */
    async answered<T>(
      purpose: Purpose,
      at: RelyingParty,
      read: (isChallenge: IsChallenge) => T | Promise<T>,
      orElse: () => Failure,
    ): Promise<{ found: T; challenge: Challenge }> {
      const opened: { challenge?: Challenge | undefined } = {}
      try {
        const found = await read((given) => {
          opened.challenge = openedAs(purpose, at, given)
          return opened.challenge !== undefined
        })
        if (opened.challenge) return { found, challenge: opened.challenge }
      } catch (error) {
        if (error instanceof Failure) throw error
        log.write('debug', 'a passkey was refused', { error: describeError(error) })
      }
      throw orElse()
    },
  }
}

type Parties = ReturnType<typeof relyingParties>
type PasskeyStore = ReturnType<typeof createPasskeyStore>

const purposeOf = (kind: 'registration' | 'second_factor', { account, user }: PasskeyHolder): Purpose => ({
  kind,
  accountId: account.id,
  userId: user.id,
})

const keeping = ({ store, settings }: Deps, passkeys: PasskeyStore, parties: Parties) => {
  const assertRoom = async (user: UserRecord) => {
    const { most_per_user: most } = await settings.of(passkeySettings)
    if ((await passkeys.ofUser(user)).length < most) return
    const message = 'The user has the maximum number of passkeys. Delete one first'
    throw invalid({ passkeys: { maxItems: { message, target: most } } })
  }

  return {
    async getOf(user: UserRecord, id: string): Promise<Passkey> {
      const passkey = await passkeys.get(user.accountId, id)
      if (passkey.doc.owner_id !== user.id) throw failure(badIdentifier, { cause: id })
      return passkey
    },

    hasAny: async ({ accountId, id }: UserRecord) =>
      (await passkeys.rows({ accountId, ownerId: id, limit: 1, descending: false })).length > 0,

    /** Options for `navigator.credentials.create`. */
    async registrationOptions(host: string | undefined, holder: PasskeyHolder) {
      const at = await parties.get(host)
      const { user } = holder
      await assertRoom(user)
      const { first_name, last_name, username } = user.doc
      const displayName = `${first_name} ${last_name}`
      const handle = Uint8Array.from(userHandleOf(user.accountId, user.id))
      const person = { name: username ?? displayName, displayName, handle }
      const challenge = await parties.challengeFor(purposeOf('registration', holder), at)
      const known = await passkeys.ofUser(user, at.id)
      return { public_key: { ...(await registrationOptions(at, { ...challenge, person, known })) } }
    },

    async register(
      author: Author,
      host: string | undefined,
      { holder, name, credential }: { holder: PasskeyHolder; name: string; credential: NewCredential },
    ): Promise<Passkey> {
      const at = await parties.get(host)
      const { account, user } = holder
      await assertRoom(user)
      const message = 'The passkey challenge has expired. Start the sign-in again'
      const refused = () => invalid({ credential: { invalid: { message } } })
      const read = (isChallenge: IsChallenge) => readNew(at, credential, isChallenge)
      const { found, challenge } = await parties.answered(
        purposeOf('registration', holder),
        at,
        read,
        refused,
      )
      const doc = { name, owner_id: user.id, rp_id: at.id, backed_up: found.isBackedUp }
      return committed(store, author, (set) => {
        const passkey = passkeys.draft(account.id, { doc, hidden: found.hidden })
        requireRecord(set, holderOf(user))
        passkeys.takeChallenge(set, challenge, refused)
        passkeys.insert(set, passkey)
        return passkey
      })
    },

    rename: (author: Author, passkey: Passkey, name: string) =>
      committed(store, author, (set) => {
        const after = passkeys.revise(passkey, { doc: { ...passkey.doc, name } })
        passkeys.replace(set, passkey, after)
        return after
      }),

    remove: (author: Author, passkey: Passkey) =>
      committed(store, author, (set) => passkeys.remove(set, passkey)),

    async removeWith(set: ChangeSet, user: UserRecord) {
      for (const passkey of await passkeys.ofUser(user)) passkeys.remove(set, passkey)
      passkeys.requireNone(set, user)
    },
  }
}

const signingIn = ({ store }: Deps, passkeys: PasskeyStore, parties: Parties) => {
  const optionsFor = async (purpose: Purpose, at: RelyingParty, known: readonly Passkey[]) => {
    const challenge = await parties.challengeFor(purpose, at)
    return { public_key: { ...(await assertionOptions(at, { ...challenge, known })) } }
  }

  /** Verifies a response and consumes its challenge. */
  const take = async (
    author: Author,
    at: RelyingParty,
    { passkey, assertion, purpose }: { passkey: Passkey; assertion: Assertion; purpose: Purpose },
  ) => {
    const isVerifying = purpose.kind === 'sign_in'
    const read = (isChallenge: IsChallenge) =>
      readAssertion(at, assertion, passkey.hidden, { isChallenge, isVerifying })
    const { found, challenge } = await parties.answered(purpose, at, read, rejectedPasskey)
    const doc = { ...passkey.doc, backed_up: found.isBackedUp, last_used: gregorianNow(store.clock) }
    const hidden = { ...passkey.hidden, counter: found.counter }
    await committed(store, author, (set) => {
      passkeys.replace(set, passkey, passkeys.revise(passkey, { doc, hidden }))
      passkeys.takeChallenge(set, challenge, rejectedPasskey)
    })
  }

  return {
    /** Options for a sign-in without a user name. */
    signInOptions: async (host: string | undefined) =>
      optionsFor({ kind: 'sign_in' }, await parties.get(host), []),

    /** Options for a second factor; undefined if the user has no passkey for this host. */
    async secondFactorOptions(host: string | undefined, holder: PasskeyHolder) {
      const at = await parties.find(host)
      const known = at ? await passkeys.ofUser(holder.user, at.id) : []
      return at && known.length > 0 ? optionsFor(purposeOf('second_factor', holder), at, known) : undefined
    },

    /** The passkey that a response names. This proves nothing. */
    async claimedBy({ id, response: { userHandle } }: Assertion): Promise<Passkey | undefined> {
      const passkey = await passkeys.holder(credentialClaim(id))
      const handle = passkey && userHandleOf(passkey.accountId, passkey.doc.owner_id).toString('base64url')
      return handle === userHandle ? passkey : undefined
    },

    /** Throws 401 unless the passkey recognized its user. */
    signIn: async (author: Author, host: string | undefined, passkey: Passkey, assertion: Assertion) =>
      take(author, await parties.get(host), { passkey, assertion, purpose: { kind: 'sign_in' } }),

    async pass(author: Author, host: string | undefined, holder: PasskeyHolder, assertion: Assertion) {
      const at = await parties.find(host)
      const passkey = at && (await passkeys.holder(credentialClaim(assertion.id)))
      if (!passkey || passkey.accountId !== holder.account.id || passkey.doc.owner_id !== holder.user.id)
        return false
      try {
        await take(author, at, { passkey, assertion, purpose: purposeOf('second_factor', holder) })
        return true
      } catch (error) {
        if (isFailure(error, invalidCredentials)) return false
        throw error
      }
    },
  }
}

export type Passkeys = ReturnType<typeof createPasskeys>

export const createPasskeys = (deps: Deps) => {
  const passkeys = createPasskeyStore(deps.store)
  const parties = relyingParties(deps)
  return {
    ...readsOf(passkeys),
    ...keeping(deps, passkeys, parties),
    ...signingIn(deps, passkeys, parties),
  }
}
