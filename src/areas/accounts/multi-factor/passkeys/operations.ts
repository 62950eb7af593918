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
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { readsOf } from '../../../../storage/collection.ts'
import { holderOf, requireRecord } from '../../../../storage/records.ts'
import type { DepsOf } from '../../../area.ts'
import { passkeySettings } from '../settings.ts'
import { challengeContext, type Purpose, partyAt, type RelyingParty, userHandleOf } from './rules.ts'
import type { Assertion, NewCredential } from './schema.ts'
import { createPasskeyStore, credentialClaim, type Passkey } from './store.ts'
import { assertionOptions, readAssertion, readNew, registrationOptions } from './webauthn.ts'

interface PasskeyHolder {
  account: AccountRecord
  user: UserRecord
}

interface Challenge {
  id: string
  /** Unix milliseconds. */
  goodUntil: number
}

const maxRead = 100

const rejectedPasskey = () => failure(invalidCredentials, {})

export type Passkeys = ReturnType<typeof createPasskeys>

/** Passkeys of users. A challenge is sealed text with its purpose and end; only answered ones are stored. */
export const createPasskeys = ({
  store,
  settings,
  keyring,
  log,
}: DepsOf<'store' | 'settings' | 'keyring' | 'log'>) => {
  const passkeys = createPasskeyStore(store)
  const { clock } = store

  const findParty = async (host: string | undefined) => partyAt(host, await settings.of(passkeySettings))

  const party = async (host: string | undefined): Promise<RelyingParty> => {
    const found = await findParty(host)
    if (found) return found
    const message = 'passkeys are not set up for this host: see hosts and rp_id of the settings passkeys'
    throw failure(notConfigured, { message })
  }

  const ofUser = async ({ accountId, id }: UserRecord, rpId?: string): Promise<Passkey[]> => {
    const all = await passkeys.page({ accountId, ownerId: id, limit: maxRead, descending: false })
    return rpId === undefined ? all : all.filter(({ doc }) => doc.rp_id === rpId)
  }

  const challengeFor = async (purpose: Purpose, at: RelyingParty) => {
    const { challenge_s: seconds } = await settings.of(passkeySettings)
    const goodUntil = clock.now() + seconds * 1000
    const text = JSON.stringify({ id: randomHex(16), goodUntil } satisfies Challenge)
    return { challenge: keyring.seal(text, challengeContext(purpose, at)), timeoutMs: seconds * 1000 }
  }

  /** Opens a challenge, if this server issued it for the purpose. */
  const openedBy = (purpose: Purpose, at: RelyingParty) => {
    let found: Challenge | undefined
    const isChallenge = (given: string) => {
      try {
        const sealed = Buffer.from(given, 'base64url').toString()
        found = JSON.parse(keyring.open(sealed, challengeContext(purpose, at))) as Challenge
      } catch {
        return false
      }
      return found.goodUntil > clock.now()
    }
    return {
      isChallenge,
      get: () => {
        if (!found) throw rejectedPasskey()
        return found
      },
    }
  }

  /** Logs the details of a rejected response, which clients do not get. */
  const refusingOthers = async <T>(work: Promise<T>, orElse: () => Failure): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof Failure) throw error
      log.write('debug', 'a passkey was refused', { error: describeError(error) })
      throw orElse()
    }
  }

  const optionsFor = async (purpose: Purpose, at: RelyingParty, known: readonly Passkey[]) => {
    const challenge = await challengeFor(purpose, at)
    return { public_key: { ...(await assertionOptions(at, { ...challenge, known })) } }
  }

  const isOfUser = (handle: string | undefined, { accountId, doc }: Passkey) =>
    handle === userHandleOf(accountId, doc.owner_id).toString('base64url')

  /** Verifies a response and consumes its challenge. */
  const take = async (
    author: Author,
    at: RelyingParty,
    { passkey, assertion, purpose }: { passkey: Passkey; assertion: Assertion; purpose: Purpose },
  ) => {
    const opened = openedBy(purpose, at)
    const { isChallenge } = opened
    const isVerifying = purpose.kind === 'sign_in'
    const reading = async () => readAssertion(at, assertion, passkey.hidden, { isChallenge, isVerifying })
    const { counter, isBackedUp } = await refusingOthers(reading(), rejectedPasskey)
    const set = new ChangeSet(author)
    const doc = { ...passkey.doc, backed_up: isBackedUp, last_used: gregorianNow(clock) }
    passkeys.replace(set, passkey, passkeys.revise(passkey, { doc, hidden: { ...passkey.hidden, counter } }))
    passkeys.takeChallenge(set, opened.get(), clock.now(), rejectedPasskey)
    await store.commit(set)
  }

  const save = async (author: Author, change: (set: ChangeSet) => Passkey) => {
    const set = new ChangeSet(author)
    const passkey = change(set)
    await store.commit(set)
    return passkey
  }

  const assertRoom = async (user: UserRecord) => {
    const { most_per_user: most } = await settings.of(passkeySettings)
    if ((await ofUser(user)).length < most) return
    const message = 'The user has as many passkeys as there may be'
    throw invalid({ passkeys: { maxItems: { message, target: most } } })
  }

  const purposeOf = (kind: 'registration' | 'second_factor', { account, user }: PasskeyHolder): Purpose => ({
    kind,
    accountId: account.id,
    userId: user.id,
  })

  return {
    ...readsOf(passkeys),

    async getOf(user: UserRecord, id: string): Promise<Passkey> {
      const passkey = await passkeys.get(user.accountId, id)
      if (passkey.doc.owner_id !== user.id) throw failure(badIdentifier, { cause: id })
      return passkey
    },

    hasAny: async ({ accountId, id }: UserRecord) =>
      (await passkeys.rows({ accountId, ownerId: id, limit: 1, descending: false })).length > 0,

    /** Options for `navigator.credentials.create`. */
    async registrationOptions(host: string | undefined, holder: PasskeyHolder) {
      const at = await party(host)
      const { user } = holder
      await assertRoom(user)
      const { first_name, last_name, username } = user.doc
      const displayName = `${first_name} ${last_name}`
      const handle = Uint8Array.from(userHandleOf(user.accountId, user.id))
      const person = { name: username ?? displayName, displayName, handle }
      const challenge = await challengeFor(purposeOf('registration', holder), at)
      const known = await ofUser(user, at.id)
      return { public_key: { ...(await registrationOptions(at, { ...challenge, person, known })) } }
    },

    async register(
      author: Author,
      host: string | undefined,
      { holder, name, credential }: { holder: PasskeyHolder; name: string; credential: NewCredential },
    ): Promise<Passkey> {
      const at = await party(host)
      const { account, user } = holder
      await assertRoom(user)
      const opened = openedBy(purposeOf('registration', holder), at)
      const refused = () =>
        invalid({
          credential: { invalid: { message: 'The passkey is not an answer to a challenge of now' } },
        })
      const made = await refusingOthers(readNew(at, credential, opened.isChallenge), refused)
      const doc = { name, owner_id: user.id, rp_id: at.id, backed_up: made.isBackedUp }
      return save(author, (set) => {
        const passkey = passkeys.draft(account.id, { doc, hidden: made.hidden })
        requireRecord(set, holderOf(user))
        passkeys.takeChallenge(set, opened.get(), clock.now(), refused)
        passkeys.insert(set, passkey)
        return passkey
      })
    },

    rename: (author: Author, passkey: Passkey, name: string) =>
      save(author, (set) => {
        const after = passkeys.revise(passkey, { doc: { ...passkey.doc, name } })
        passkeys.replace(set, passkey, after)
        return after
      }),

    remove: (author: Author, passkey: Passkey) =>
      save(author, (set) => {
        passkeys.remove(set, passkey)
        return passkey
      }),

    async removeWith(set: ChangeSet, user: UserRecord) {
      for (const passkey of await ofUser(user)) passkeys.remove(set, passkey)
      passkeys.requireNone(set, user)
    },

    /** Options for a sign-in without a user name. */
    async signInOptions(host: string | undefined) {
      return optionsFor({ kind: 'sign_in' }, await party(host), [])
    },

    /** Options for a second factor; undefined if the user has no passkey for this host. */
    async secondFactorOptions(host: string | undefined, holder: PasskeyHolder) {
      const at = await findParty(host)
      const known = at ? await ofUser(holder.user, at.id) : []
      return at && known.length > 0 ? optionsFor(purposeOf('second_factor', holder), at, known) : undefined
    },

    /** The passkey that a response names. This proves nothing. */
    async claimedBy({ id, response }: Assertion): Promise<Passkey | undefined> {
      const passkey = await passkeys.holder(credentialClaim(id))
      return passkey && isOfUser(response.userHandle, passkey) ? passkey : undefined
    },

    /** Throws 401 unless the passkey recognized its user. */
    signIn: async (author: Author, host: string | undefined, passkey: Passkey, assertion: Assertion) =>
      take(author, await party(host), { passkey, assertion, purpose: { kind: 'sign_in' } }),

    async pass(author: Author, host: string | undefined, holder: PasskeyHolder, assertion: Assertion) {
      const at = await findParty(host)
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
