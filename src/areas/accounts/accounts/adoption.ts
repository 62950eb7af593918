import { isDeepStrictEqual } from 'node:util'
import type { AccountDoc, AccountHidden, AccountRecord } from '../../../auth/identity.ts'
import { type Keyring, sha256Hex } from '../../../auth/keyring.ts'
import { randomHex } from '../../../lib/ids.ts'
import type { AccountRateLimits } from '../../../lib/packet-limits.ts'
import type { ChangeSet, Claim } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import type { ImportedRecord, Importer } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import { storedApiKey } from './drafts.ts'
import { publicHalf, treeAfterMove } from './rules.ts'
import { Account } from './schema.ts'
import { createAccountStore } from './store.ts'

export type AccountFacts = Omit<
  AccountHidden,
  'signatureSecret' | 'signInSalt' | 'sealedApiKey' | 'apiKeyHash' | 'endedKeySessions'
> & {
  /** In clear. Without it the account gets a generated one. */
  apiKey?: string
}

/** Handlers of other areas for an imported account that got another parent or was removed. */
interface AccountFollowers {
  moveWith(set: ChangeSet, move: { before: AccountRecord; after: AccountRecord }): void
  removeWith(set: ChangeSet, account: AccountRecord): void
}

type MoveIn = (set: ChangeSet, first: AccountRecord, master: AccountRecord) => Promise<void>

const hiddenOf = (
  keyring: Keyring,
  { id, facts }: ImportedRecord,
  before: AccountHidden | undefined,
): AccountHidden => {
  const { apiKey, ...values } = facts as AccountFacts
  const isSameKey = before && (apiKey === undefined || before.apiKeyHash === sha256Hex(apiKey))
  return {
    ...values,
    signatureSecret: before?.signatureSecret ?? randomHex(32),
    signInSalt: before?.signInSalt ?? randomHex(16),
    ...(isSameKey
      ? { sealedApiKey: before.sealedApiKey, apiKeyHash: before.apiKeyHash }
      : storedApiKey(keyring, id, apiKey)),
  }
}

/** Packet limits are imported separately: those of the stored account stay. */
const docOf = ({ doc }: ImportedRecord, before: AccountRecord | undefined): AccountDoc => {
  const limits = before?.doc.rate_limits
  return { ...publicHalf(doc), ...(limits ? { rate_limits: limits } : {}) }
}

export const createAccountImporter = ({ store, keyring }: DepsOf<'store' | 'keyring'>) => {
  const accounts = createAccountStore(store)

  /** The stored account, if this change set does not remove it. */
  const findLeft = async (set: ChangeSet, id: string) => {
    const stored = await accounts.find(id, id)
    return stored && accounts.leftBy([set], stored)
  }

  const recordOf = (arrival: ImportedRecord, before?: AccountRecord, hidden: Partial<AccountHidden> = {}) => {
    const { id, created, modified, revision } = arrival
    return accounts.arriving(
      { accountId: id, id, created, modified, revision, tally: before?.tally ?? 0 },
      {
        doc: docOf(arrival, before),
        hidden: { ...hiddenOf(keyring, arrival, before?.hidden), ...hidden },
      },
    )
  }

  /** Sub-accounts of a moved account, before and after, except those that left it in this set. */
  const belowOf = async (set: ChangeSet, { id, hidden }: AccountRecord) => {
    const below: [AccountRecord, AccountRecord][] = []
    for await (const batch of accounts.descendants(id))
      for (const stored of batch) {
        const old = accounts.leftBy([set], stored)
        if (!old?.hidden.tree.includes(id)) continue
        const tree = treeAfterMove(old.hidden.tree, id, hidden.tree)
        below.push([old, accounts.arriving(old, { doc: old.doc, hidden: { ...old.hidden, tree } })])
      }
    return below
  }

  return {
    adoption: (followers: AccountFollowers): Importer => ({
      schema: Account,
      async put(set, arrival) {
        const before = await findLeft(set, arrival.id)
        if (before?.revision === arrival.revision) return false
        const after = recordOf(arrival, before)
        accounts.freeNames(set, after)
        if (!before) accounts.insert(set, after, undefined)
        else if (before.hidden.tree.join() === after.hidden.tree.join()) accounts.replace(set, before, after)
        else {
          accounts.transplant(set, before, after, await belowOf(set, after))
          if (before.hidden.tree.at(-1) !== after.hidden.tree.at(-1))
            followers.moveWith(set, { before, after })
        }
        return true
      },
      async remove(set, { id }) {
        const account = await accounts.find(id, id)
        if (!account) return false
        await accounts.remove(set, account)
        followers.removeWith(set, account)
        return true
      },
    }),

    /** Puts imported packet limits into the account's document, or removes them. False if nothing changes. */
    async keepLimits(set: ChangeSet, accountId: string, limits: AccountRateLimits | undefined) {
      const before = await findLeft(set, accountId)
      if (!before || isDeepStrictEqual(before.doc.rate_limits, limits)) return false
      const { rate_limits: _, ...others } = before.doc
      const doc = { ...others, ...(limits ? { rate_limits: limits } : {}) } as AccountDoc
      accounts.replace(set, before, accounts.arriving(before, { doc, hidden: before.hidden }))
      return true
    },

    /** Replaces the first account, which has no sub-accounts. Its sign-in salt stays. False if it was replaced before. */
    async replaceMaster(set: ChangeSet, arrival: ImportedRecord, claim: Claim, moveIn: MoveIn) {
      const holder = await store.records.claimant(claim)
      if (!holder) throw new Error('there is no master account to replace')
      if (holder.id === arrival.id) return false
      const first = await accounts.get(holder.id, holder.id)
      if (first.tally > 0) throw new Error('the master account has sub-accounts: it cannot be replaced')
      const master = recordOf(arrival, undefined, { signInSalt: first.hidden.signInSalt })
      await accounts.remove(set, first)
      accounts.insert(set, master, undefined)
      set.claim(claim, holderOf(master))
      await moveIn(set, first, master)
      // The audit of the first account stays readable to the new one.
      set.summary = { ...holderOf(first), action: 'deleted', name: first.doc.name, tree: [master.id] }
      return true
    },
  }
}
