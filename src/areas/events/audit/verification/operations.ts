import type { Store } from '../../../../storage/store.ts'
import { createChainWalk, type Fault, letGoFault } from './rules.ts'
import { createVerificationStore, type KnownRemoval } from './store.ts'

interface AccountFault extends Fault {
  accountId: string
}

export interface Verification {
  accounts: number
  entries: number
  /** Of each account whose chain is broken the first fault. */
  faults: AccountFault[]
}

/** Holds the whole audit against its chains. Nothing has to rest meanwhile. */
export const createVerification = (store: Store) => {
  const rows = createVerificationStore(store)

  const walk = async (accountId: string, removal: KnownRemoval | undefined) => {
    const chain = createChainWalk(await rows.endOf(accountId))
    let entries = 0
    let after = 0
    for (;;) {
      const links = await rows.links(accountId, after)
      for (const link of links) {
        const fault = chain.take(link)
        if (fault) return { entries, fault }
        entries += 1
        after = link.sequence
      }
      if (links.length > 0) continue
      const letGo = await rows.newestLetGo(accountId)
      return {
        entries,
        fault: chain.finish(removal, await rows.endOf(accountId)) ?? (letGo && letGoFault(letGo, removal)),
      }
    }
  }

  /** What retention removes while an account is looked at is no fault of it: then it is looked at anew. */
  const verify = async (accountId: string) => {
    for (;;) {
      const removal = await rows.removalOf(accountId)
      const found = await walk(accountId, removal)
      if (!found.fault || (await rows.removalOf(accountId))?.id === removal?.id) return found
    }
  }

  return {
    async all(onProgress: (sofar: Readonly<Verification>) => void): Promise<Verification> {
      const result: Verification = { accounts: 0, entries: 0, faults: [] }
      let accountId = await rows.nextAccount('')
      while (accountId !== undefined) {
        const { entries, fault } = await verify(accountId)
        result.accounts += 1
        result.entries += entries
        if (fault) result.faults.push({ accountId, ...fault })
        onProgress(result)
        accountId = await rows.nextAccount(accountId)
      }
      return result
    },
  }
}
