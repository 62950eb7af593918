import type { Facts } from '../chapters/chapter.ts'
import type { MonthPlace } from './months.ts'

/** The months that are taken over, account by account, the oldest first. */
export const monthsIn = ({ kinds, accounts, sinceMonth = 0 }: Facts): MonthPlace[][] => {
  const months = new Map<string, MonthPlace[]>()
  for (const [database, kind] of kinds) {
    if (kind.kind !== 'month' || Number(kind.month) < sinceMonth || !accounts.has(kind.accountId)) continue
    const ofAccount = months.get(kind.accountId) ?? []
    ofAccount.push({ database, accountId: kind.accountId, month: kind.month })
    months.set(kind.accountId, ofAccount)
  }
  // Names end with the month.
  for (const ofAccount of months.values()) ofAccount.sort((a, b) => (a.month < b.month ? -1 : 1))
  return [...months.values()]
}
