import { isDeepStrictEqual } from 'node:util'
import type { AccountDoc, AccountHidden, AccountRecord } from '../../../auth/identity.ts'
import { sha256Hex } from '../../../auth/keyring.ts'
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

export type AccountFacts = Pick<
  AccountHidden,
  'tree' | 'isReseller' | 'isSuperduper' | 'allowsNumberAdditions' | 'enabled' | 'nameClaim' | 'trialExpires'
> & {
  /** In clear; absent: the account has one made up. */
  apiKey?: string
}

/** What others do about an account that arrives at another place than where it stood, or goes. */
interface AccountFollowers {
  moveWith(set: ChangeSet, move: { before: AccountRecord; after: AccountRecord }): void
  removeWith(set: ChangeSet, account: AccountRecord): void
}

type MoveIn = (set: ChangeSet, first: AccountRecord, master: AccountRecord) => Promise<void>

const isSameTree = (one: readonly string[], other: readonly string[]) => one.join() === other.join()

export const createAccountImporter = ({ store, keyring }: DepsOf<'store' | 'keyring'>) => {
  const accounts = createAccountStore(store)

  const keyOf = (id: string, { apiKey }: AccountFacts, before: AccountHidden | undefined) => {
    if (before && (apiKey === undefined || before.apiKeyHash === sha256Hex(apiKey)))
      return { sealedApiKey: before.sealedApiKey, apiKeyHash: before.apiKeyHash }
    return storedApiKey(keyring, id, apiKey)
  }

  const hiddenOf = (id: string, facts: AccountFacts, before: AccountHidden | undefined): AccountHidden => ({
    tree: facts.tree,
    isReseller: facts.isReseller,
    isSuperduper: facts.isSuperduper,
    allowsNumberAdditions: facts.allowsNumberAdditions,
    enabled: facts.enabled,
    nameClaim: facts.nameClaim,
    ...(facts.trialExpires === undefined ? {} : { trialExpires: facts.trialExpires }),
    signatureSecret: before?.signatureSecret ?? randomHex(32),
    signInSalt: before?.signInSalt ?? randomHex(16),
    ...keyOf(id, facts, before),
  })

  /** Packet limits arrive by themselves: what came before stays. */
  const docOf = (arrival: ImportedRecord, before: AccountRecord | undefined): AccountDoc => {
    const limits = before?.doc.rate_limits
    return { ...publicHalf(arrival.doc), ...(limits ? { rate_limits: limits } : {}) }
  }

  const recordOf = (arrival: ImportedRecord, before: AccountRecord | undefined, salt?: string) => {
    const { id, created, modified, revision, facts } = arrival
    const hidden = hiddenOf(id, facts as AccountFacts, before?.hidden)
    return accounts.arriving(
      { accountId: id, id, created, modified, revision, tally: before?.tally ?? 0 },
      { doc: docOf(arrival, before), hidden: salt === undefined ? hidden : { ...hidden, signInSalt: salt } },
    )
  }

  /** Sub-accounts of a moved account, before and after, except those that left it in this set. */
  const belowOf = async (set: ChangeSet, { id, hidden }: AccountRecord) => {
    const below: [AccountRecord, AccountRecord][] = []
    for await (const batch of accounts.descendants(id)) {
      for (const stored of batch) {
        const old = accounts.leftBy([set], stored)
        if (!old?.hidden.tree.includes(id)) continue
        const tree = treeAfterMove(old.hidden.tree, id, hidden.tree)
        below.push([old, accounts.arriving(old, { doc: old.doc, hidden: { ...old.hidden, tree } })])
      }
    }
    return below
  }

  const put = async (
    set: ChangeSet,
    arrival: ImportedRecord,
    followers: Pick<AccountFollowers, 'moveWith'>,
  ) => {
    const stored = await accounts.find(arrival.id, arrival.id)
    const before = stored && accounts.leftBy([set], stored)
    if (before?.revision === arrival.revision) return false
    const after = recordOf(arrival, before)
    accounts.freeNames(set, after)
    if (!before) accounts.insert(set, after, undefined)
    else if (isSameTree(before.hidden.tree, after.hidden.tree)) accounts.replace(set, before, after)
    else {
      accounts.transplant(set, before, after, await belowOf(set, after))
      if (before.hidden.tree.at(-1) !== after.hidden.tree.at(-1)) followers.moveWith(set, { before, after })
    }
    return true
  }

  return {
    adoption: (followers: AccountFollowers): Importer => ({
      schema: Account,
      put: (set, arrival) => put(set, arrival, followers),
      async remove(set, { id }) {
        const account = await accounts.find(id, id)
        if (!account) return false
        await accounts.remove(set, account)
        followers.removeWith(set, account)
        return true
      },
    }),

    /** Puts packet limits that arrive by themselves into the account's document, or takes them out of it. False when nothing changes. */
    async keepLimits(set: ChangeSet, accountId: string, limits: AccountRateLimits | undefined) {
      const stored = await accounts.find(accountId, accountId)
      const before = stored && accounts.leftBy([set], stored)
      if (!before || isDeepStrictEqual(before.doc.rate_limits, limits)) return false
      const { rate_limits: _, ...others } = before.doc
      const doc = { ...others, ...(limits ? { rate_limits: limits } : {}) } as AccountDoc
      accounts.replace(set, before, accounts.arriving(before, { doc, hidden: before.hidden }))
      return true
    },

    /** Replaces the first account, which has no sub-accounts. Its sign-in salt stays. False if it was replaced before. */
    async replaceMaster(
      set: ChangeSet,
      arrival: ImportedRecord,
      claim: Claim,
      moveIn: MoveIn,
    ): Promise<boolean> {
      const holder = await store.records.claimant(claim)
      if (!holder) throw new Error('there is no master account to be replaced')
      if (holder.id === arrival.id) return false
      const first = await accounts.get(holder.id, holder.id)
      if (first.tally > 0) throw new Error('the master account has sub-accounts: it cannot be replaced')
      const master = recordOf(arrival, undefined, first.hidden.signInSalt)
      await accounts.remove(set, first)
      accounts.insert(set, master, undefined)
      set.claim(claim, holderOf(master))
      await moveIn(set, first, master)
      // The audit of the first account stays readable to the new one.
      set.summary = {
        ...holderOf(first),
        action: 'deleted',
        name: first.doc.name,
        tree: [master.id],
      }
      return true
    },
  }
}
