import type { Facts } from '../chapters/chapter.ts'
import type { MonthPlace } from './months.ts'

/** The months that are taken over, account by account, the oldest first: each account's are put together when its turn comes. */
export function* monthsIn({ kinds, accounts, sinceMonth = 0 }: Facts): Generator<MonthPlace[]> {
  const databases = new Map<string, string[]>()
  for (const [database, kind] of kinds) {
    if (kind.kind !== 'month' || Number(kind.month) < sinceMonth || !accounts.has(kind.accountId)) continue
    const ofAccount = databases.get(kind.accountId)
    if (ofAccount) ofAccount.push(database)
    else databases.set(kind.accountId, [database])
  }
  for (const ofAccount of databases.values())
    yield ofAccount
      .flatMap((database): MonthPlace[] => {
        const kind = kinds.get(database)
        return kind?.kind === 'month' ? [{ database, accountId: kind.accountId, month: kind.month }] : []
      })
      .sort((a, b) => (a.month < b.month ? -1 : 1))
}
