import { accountKind } from '../../../../auth/identity.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { addToPool, removeFromPool } from '../carriers/store.ts'
import type { PoolNumber } from './rules.ts'

interface PoolChange {
  done: number
  /** Ids of accounts that do not exist; their numbers were skipped. */
  unknown: string[]
}

const poolNumberKind = 'number_pool'
const numbersPerWrite = 500

/** Stock of the carriers `managed` and `inum`. */
export const createPools = (store: Store) => {
  const change =
    (action: 'created' | 'deleted', apply: typeof addToPool) =>
    async (author: Author, batches: AsyncIterable<readonly PoolNumber[]>): Promise<PoolChange> => {
      const exists = new Map<string, boolean>()
      let done = 0

      const isThere = async (accountId: string) => {
        const known = exists.get(accountId)
        if (known !== undefined) return known
        const isFound = (await store.records.find(accountId, accountKind, accountId)) !== undefined
        exists.set(accountId, isFound)
        return isFound
      }

      const write = async (numbers: readonly PoolNumber[]) => {
        const set = new ChangeSet(author)
        for (const number of numbers) {
          if (!(await isThere(number.accountId))) continue
          apply(set, number)
          const { accountId, carrier } = number
          const text = JSON.stringify({ carrier })
          const texts = action === 'created' ? { after: text } : { before: text }
          set.record({ accountId, kind: poolNumberKind, id: number.number, action, ...texts })
        }
        if (set.changes.length > 0) await store.commit(set)
        done += set.changes.length
      }

      for await (const batch of batches) {
        for (let at = 0; at < batch.length; at += numbersPerWrite)
          await write(batch.slice(at, at + numbersPerWrite))
      }
      return { done, unknown: [...exists].flatMap(([id, isFound]) => (isFound ? [] : [id])) }
    }

  return { add: change('created', addToPool), remove: change('deleted', removeFromPool) }
}
