import { monthBefore } from '../../../../lib/gregorian.ts'
import { zip } from '../../../../lib/list.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../../adoption.ts'
import { type EntryDetails, rolloverService, type Source, type Usage } from '../rules.ts'
import { monthsTogether, reckoned } from './rules.ts'
import { createLedgerImportStore, type ImportedEntry, type NewPlace } from './store.ts'

/** What an entry says of itself, as clients read it. */
interface ArrivingDoc extends EntryDetails {
  source: Source
  usage: Usage
}

/** The month in whose book it stands, like 202611, and units: credits are positive, debits negative. */
interface ArrivingFacts {
  month: number
  amount: number
}

const entryOf = ({ id, accountId, created, doc, facts }: Importer): ImportedEntry => {
  const { source, usage, ...details } = doc as unknown as ArrivingDoc
  const { month, amount } = facts as unknown as ArrivingFacts
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

const accountsAtOnce = 200
// Their writes share commits, each of which waits for the disk.
const settledTogether = 16
// A write holds up others as long as it lasts, and costs a commit however short it is.
const entriesAtOnce = 1000

/** Takes in what another system has booked, as it was booked there. Balances follow when all of it is there. */
export const createLedgerImporter = (
  store: Store,
): Required<Pick<ImportedRecord, 'put' | 'putMany' | 'remove' | 'settle'>> => {
  const rows = createLedgerImportStore(store)

  const putMany = async (set: ChangeSet, arrivals: readonly Importer[]) => {
    const isNew = new Map<Importer, boolean>()
    for (const [accountId, ofAccount] of Map.groupBy(arrivals, (arrival) => arrival.accountId)) {
      const put = await rows.put(set, accountId, ofAccount.map(entryOf))
      for (const [arrival, is] of zip(ofAccount, put)) isNew.set(arrival, is)
      const first = ofAccount.find((arrival) => isNew.get(arrival))
      if (first) set.record({ accountId, kind: 'ledger', id: first.id, action: 'created' })
    }
    return arrivals.map((arrival) => isNew.get(arrival) === true)
  }

  /** Gives the entries of months, all of those from one on, their places behind those before. Answers with how many there are, and what they come to. */
  const placeAll = async (accountId: string, from: number, counts: ReadonlyMap<number, number>) => {
    let { count, units } = await rows.before(accountId, from)
    for (const months of monthsTogether(counts, entriesAtOnce)) {
      const moved: NewPlace[] = []
      for (const entry of await rows.inOrder(accountId, Math.min(...months), Math.max(...months))) {
        const { id, service, amount, ordinal, had } = entry
        count += 1
        if (ordinal !== count || had !== units) moved.push({ id, ordinal: count, had: units })
        if (service !== rolloverService) units += amount
      }
      await rows.place(accountId, moved)
    }
    return { count, units }
  }

  /** What follows from an account's entries from a month on. Until the last of its writes the balance stays marked. */
  const settleAccount = async (accountId: string, from: number) => {
    const { entries, month } = reckoned(await rows.months(accountId, from), monthBefore)
    if (month === undefined) return rows.forget(accountId)
    const changed = await rows.putReckoned(accountId, entries)
    // What a month begins with may have changed what stands at the end of the one before, now or before a crash.
    const first = monthBefore(from)
    const counts = await rows.monthsFrom(accountId, first)
    const emptied = [...changed, first, from].filter((one) => !counts.has(one))
    const all = new Map([...emptied.map((one) => [one, 0] as const), ...counts])
    for (const months of monthsTogether(all, entriesAtOnce)) await rows.sumMonths(accountId, months)
    await rows.finish(accountId, { month, ...(await placeAll(accountId, first, counts)) })
  }

  return {
    putMany,

    async put(set, arrival) {
      const [isNew = false] = await putMany(set, [arrival])
      return isNew
    },

    async remove(set, { accountId, id }) {
      const isGone = await rows.remove(set, accountId, id)
      if (isGone) set.record({ accountId, kind: 'ledger', id, action: 'deleted' })
      return isGone
    },

    async settle() {
      for (;;) {
        const some = await rows.outdated(accountsAtOnce)
        for (let at = 0; at < some.length; at += settledTogether)
          await Promise.all(
            some.slice(at, at + settledTogether).map(({ accountId, from }) => settleAccount(accountId, from)),
          )
        if (some.length < accountsAtOnce) return
      }
    },
  }
}
