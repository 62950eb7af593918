import { createHash } from 'node:crypto'
import type { Static } from 'typebox'
import { type AccountRecord, secondFactorKind, type UserRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure, forbidden, notConfigured, tooManyRequests } from '../../../lib/failure.ts'
import { randomKey } from '../../../lib/ids.ts'
import type { AuthModule } from '../../../settings/auth-modules.ts'
import { removalWithOwner } from '../../../storage/attachment.ts'
import { type Author, systemScope } from '../../../storage/change-set.ts'
import { createCollection, readsOf } from '../../../storage/collection.ts'
import { holderOf, requireRecord, type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import { committed } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { type RecordsDefinition, records } from '../../records.ts'
import {
  afterFailure,
  afterSuccess,
  appLabel,
  type FactorHidden,
  freshStep,
  neverUsed,
  otpauthUrl,
  plainRecoveryCode,
  recoveryCodeBytes,
  recoveryCodeCount,
  recoveryCodeText,
} from './rules.ts'
import { Provider, ProviderRecord as ProviderAnswer } from './schema.ts'

type ProviderDoc = Static<typeof Provider>
type ProviderRecord = StoredRecord<ProviderDoc, object>

interface FactorDoc {
  provider_name: 'otp'
  /** Whether the user has shown that an authenticator app holds the secret. */
  verified: boolean
}

type FactorRecord = StoredRecord<FactorDoc, FactorHidden>

export type { Passkeys } from './passkeys/operations.ts'

type MultiFactorSetting = NonNullable<AuthModule['multi_factor']>

export type Providers = ReturnType<typeof createProviders>

const maxProviders = 50

export const createProviders = ({ store }: DepsOf<'store'>) => {
  const providers = createCollection<ProviderDoc, object>(store, {
    kind: 'multi_factor',
    sortKey: (doc) => sortKeyOf(doc.name),
    row: ({ name, provider_name, enabled }) => ({ name, provider_name, enabled }),
  })

  const listOf = (scope: string) =>
    providers.page({ accountId: scope, limit: maxProviders, descending: false })

  const nearest = async (account: AccountRecord): Promise<ProviderRecord | undefined> => {
    for (const scope of [account.id, ...account.hidden.tree.toReversed(), systemScope]) {
      const provider = (await listOf(scope)).find(({ doc }) => doc.enabled)
      if (provider) return provider
    }
    return undefined
  }

  const named = async (account: AccountRecord, accountId: string, id: string) => {
    const isMaster = accountId === (account.hidden.tree[0] ?? account.id)
    const own = await providers.find(accountId, id)
    // The operator names the system's providers by the master account.
    return own ?? (isMaster ? providers.find(systemScope, id) : undefined)
  }

  const definition: RecordsDefinition<ProviderDoc, object> = {
    collection: providers,
    shape: { body: Provider, record: ProviderAnswer, computed: [] },
    beforeWrite(_set, { after }) {
      if (after.doc.provider_name === 'duo')
        throw failure(notConfigured, { message: 'Duo is not available on this server' })
    },
  }

  return {
    ...readsOf(providers),
    ofAccounts: records(store, definition),
    ofSystem: records(store, { ...definition, ofSystem: true }),
    named,

    /** The provider of a setting; undefined if there is none, or it is disabled. */
    async meantBy(account: AccountRecord, setting: MultiFactorSetting) {
      const { configuration_id: id, account_id: accountId } = setting
      if (!id || !accountId) return nearest(account)
      const provider = await named(account, accountId, id)
      return provider?.doc.enabled ? provider : undefined
    },

    async choiceOf(account: AccountRecord) {
      const rows = (records: ProviderRecord[]) => records.map(({ rowText }) => JSON.parse(rowText) as object)
      return {
        configured: rows(await listOf(account.id)),
        multi_factor_providers: rows((await listOf(systemScope)).filter(({ doc }) => doc.enabled)),
      }
    },
  }
}

interface FactorHolder {
  account: AccountRecord
  user: UserRecord
}

/** Set after the first code: the recovery codes, shown once. */
interface Passed {
  recoveryCodes: string[] | undefined
}

const contextOf = ({ account, user }: FactorHolder) => `second_factor/${account.id}/${user.id}`

const freshRecoveryCodes = () =>
  Array.from({ length: recoveryCodeCount }, () => recoveryCodeText(randomKey(recoveryCodeBytes)))

const digestOfCode = (holder: FactorHolder, code: string) =>
  createHash('sha256')
    .update(`${contextOf(holder)}/${plainRecoveryCode(code)}`)
    .digest('base64url')

const assertNotBlocked = ({ hidden: { blockedUntil } }: FactorRecord, now: number) => {
  const left = blockedUntil - now
  if (left > 0) throw failure(tooManyRequests, { retryAfterSeconds: Math.ceil(left) })
}

export type Factors = ReturnType<typeof createFactors>

export const createFactors = ({ store, keyring }: DepsOf<'store' | 'keyring'>) => {
  const factors = createCollection<FactorDoc, FactorHidden>(store, {
    kind: secondFactorKind,
    row: ({ provider_name, verified }) => ({ provider_name, verified }),
  })
  const unixNow = () => store.clock.now() / 1000
  const find = ({ account, user }: FactorHolder) => factors.find(account.id, user.id)

  const secretOf = (holder: FactorHolder, factor: FactorRecord) =>
    Buffer.from(keyring.open(factor.hidden.sealedSecret, contextOf(holder)), 'base64')

  const save = (
    author: Author,
    factor: FactorRecord,
    hidden: FactorHidden,
    { verified }: { verified: boolean },
  ) =>
    committed(store, author, (set) =>
      factors.replace(set, factor, factors.revise(factor, { doc: { ...factor.doc, verified }, hidden })),
    )

  const enrol = (author: Author, holder: FactorHolder): Promise<FactorRecord> => {
    const hidden: FactorHidden = {
      sealedSecret: keyring.seal(randomKey(20).toString('base64'), contextOf(holder)),
      lastStep: neverUsed(unixNow()),
      recoveryCodes: [],
      failures: 0,
      blockedUntil: 0,
    }
    const doc: FactorDoc = { provider_name: 'otp', verified: false }
    const factor = factors.draft(holder.account.id, { doc, hidden }, holder.user.id)
    return committed(store, author, (set) => {
      requireRecord(set, holderOf(holder.user))
      factors.insert(set, factor)
      return factor
    })
  }

  const passWith = async (author: Author, factor: FactorRecord, change: Partial<FactorHidden>) =>
    save(author, factor, afterSuccess(factor.hidden, change), { verified: true })

  return {
    isVerified: async (holder: FactorHolder) => (await find(holder))?.doc.verified === true,

    /** The address for an authenticator app. It is not shown after the first good code. */
    async enrolmentUrl(author: Author, holder: FactorHolder): Promise<string> {
      const factor = (await find(holder)) ?? (await enrol(author, holder))
      if (factor.doc.verified) throw failure(forbidden, { message: 'QR code already verified.' })
      const label = appLabel(holder.account.doc.name, holder.user.doc.username)
      return otpauthUrl({ key: secretOf(holder, factor), ...label })
    },

    /** Checks a code or recovery code. The first good one verifies the factor. Throws 429 after too many wrong ones. */
    async pass(author: Author, holder: FactorHolder, response: string): Promise<Passed | undefined> {
      const factor = await find(holder)
      if (!factor) return undefined
      const { doc, hidden } = factor
      assertNotBlocked(factor, unixNow())
      const step = freshStep(secretOf(holder, factor), response.trim(), unixNow(), hidden.lastStep)
      if (step !== undefined && !doc.verified) {
        const codes = freshRecoveryCodes()
        const recoveryCodes = codes.map((code) => digestOfCode(holder, code))
        await passWith(author, factor, { lastStep: step, recoveryCodes })
        return { recoveryCodes: codes }
      }
      const digest = digestOfCode(holder, response)
      if (step !== undefined) await passWith(author, factor, { lastStep: step })
      else if (hidden.recoveryCodes.includes(digest))
        await passWith(author, factor, {
          recoveryCodes: hidden.recoveryCodes.filter((code) => code !== digest),
        })
      else {
        await save(author, factor, afterFailure(hidden, unixNow()), doc)
        return undefined
      }
      return { recoveryCodes: undefined }
    },

    removeWith: removalWithOwner(factors),

    /** Removes the factor of a user who lost it: the next sign-in enrols another. */
    async remove(author: Author, holder: FactorHolder) {
      const factor = await find(holder)
      if (!factor) throw failure(badIdentifier, { cause: holder.user.id })
      await committed(store, author, (set) => factors.remove(set, factor))
    },
  }
}
