import { monthBefore } from '../../../../lib/gregorian.ts'
import { zip } from '../../../../lib/list.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../../adoption.ts'
import { type EntryDetails, monthsTogether, reckoned, rolloverService } from '../rules.ts'
import { createLedgerImportStore, type EntryPosition, type ImportedEntry } from './store.ts'

const importedEntryOf = ({ id, accountId, created, doc, facts }: ImportedRecord): ImportedEntry => {
  const { source, usage, ...details } = doc as unknown as EntryDetails &
    Pick<ImportedEntry, 'source' | 'usage'>
  const { month, amount } = facts as unknown as Pick<ImportedEntry, 'month' | 'amount'>
  return {
    id,
    created,
    month,
    amount,
    source,
    usage,
    details,
    forAccountId: details.account?.id ?? accountId,
  }
}

const accountsPerRead = 200
// Writes of several accounts share commits, each of which waits for the disk.
const maxConcurrentAccounts = 16
// A write blocks others as long as it runs, and costs a commit however short it is.
const entriesPerWrite = 1000

/** Imports ledger entries of another system unchanged. Balances are computed when all entries are there. */
export const createLedgerImporter = (
  store: Store,
): Required<Pick<Importer, 'put' | 'putMany' | 'remove' | 'settle'>> => {
  const rows = createLedgerImportStore(store)

  const putMany = async (set: ChangeSet, imported: readonly ImportedRecord[]) => {
    const isNew = new Map<ImportedRecord, boolean>()
    for (const [accountId, ofAccount] of Map.groupBy(imported, (record) => record.accountId)) {
      const put = await rows.put(set, accountId, ofAccount.map(importedEntryOf))
      for (const [record, is] of zip(ofAccount, put)) isNew.set(record, is)
      const first = ofAccount.find((record) => isNew.get(record))
      if (first) set.record({ accountId, kind: 'ledger', id: first.id, action: 'created' })
    }
    return imported.map((record) => isNew.get(record) === true)
  }

  /** Numbers the entries of all months from one on. Returns the number of all entries, and their total. */
  const setPositions = async (accountId: string, from: number, counts: ReadonlyMap<number, number>) => {
    let { count, units } = await rows.before(accountId, from)
    for (const months of monthsTogether(counts, entriesPerWrite)) {
      const moved: EntryPosition[] = []
      for (const entry of await rows.inOrder(accountId, Math.min(...months), Math.max(...months))) {
        const { id, service, amount, ordinal, availableBefore } = entry
        count += 1
        if (ordinal !== count || availableBefore !== units)
          moved.push({ id, position: count, available: units })
        if (service !== rolloverService) units += amount
      }
      await rows.setPositions(accountId, moved)
    }
    return { count, units }
  }

  /** Computes what follows from an account's entries from a month on. The last write removes the mark of the balance. */
  const settleAccount = async (accountId: string, from: number) => {
    const { entries, month } = reckoned(await rows.months(accountId, from), monthBefore)
    if (month === undefined) return rows.removeAll(accountId)
    const changed = await rows.putReckoned(accountId, entries)
    // The month before may have got or lost a correction, now or before a crash.
    const first = monthBefore(from)
    const counts = await rows.monthsFrom(accountId, first)
    const emptied = [...changed, first, from].filter((one) => !counts.has(one))
    const all = new Map([...emptied.map((one) => [one, 0] as const), ...counts])
    for (const months of monthsTogether(all, entriesPerWrite)) await rows.sumMonths(accountId, months)
    await rows.finish(accountId, { month, ...(await setPositions(accountId, first, counts)) })
  }

  return {
    putMany,

    async put(set, imported) {
      const [isNew = false] = await putMany(set, [imported])
      return isNew
    },

    async remove(set, { accountId, id }) {
      const isRemoved = await rows.remove(set, accountId, id)
      if (isRemoved) set.record({ accountId, kind: 'ledger', id, action: 'deleted' })
      return isRemoved
    },

    async settle() {
      for (;;) {
        const some = await rows.outdated(accountsPerRead)
        for (let at = 0; at < some.length; at += maxConcurrentAccounts) {
          const together = some.slice(at, at + maxConcurrentAccounts)
          await Promise.all(together.map(({ accountId, from }) => settleAccount(accountId, from)))
        }
        if (some.length < accountsPerRead) return
      }
    },
  }
}
