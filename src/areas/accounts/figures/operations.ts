import type { AccountRecord } from '../../../auth/identity.ts'
import { invalid } from '../../../lib/failure.ts'
import { pagesOf } from '../../../lib/list.ts'
import { dollarsOfUnits } from '../../../lib/money.ts'
import type { Ledgers } from '../../billing/ledgers/operations.ts'
import { addSums, byStartAndGroup, type Cell, type Span, statOf } from '../../calls/cdrs/stats/rules.ts'
import type { Alerts } from '../../events/alerts/operations.ts'
import type { Accounts } from '../accounts/operations.ts'
import { maxSorted, pageOf, type Ranked, type Sorting } from './rules.ts'

interface Deps {
  accounts: Pick<Accounts, 'descendants' | 'find' | 'page' | 'resellerOf'>
  ledgers: Pick<Ledgers, 'balances' | 'chargedByMonth'>
  stats: {
    /** The calls of each account. */
    callsOf(accountIds: readonly string[], days: Span): Promise<Map<string, number>>
    /** Their sums by day. */
    daysOf(accountIds: readonly string[], days: Span): Promise<Cell[]>
  }
  alerts: Pick<Alerts, 'derived'>
}

type PageRequest = Omit<Parameters<Accounts['page']>[0], 'ancestorId' | 'direct'>

export interface Child {
  account: AccountRecord
  balance: number
  calls: number
  alerts: number
}

interface Order {
  sort: Sorting
  days: Span
}

const batchSize = 500

const tooMany = () =>
  invalid({
    sort: {
      maximum: {
        message: `More than ${maxSorted} sub-accounts are listed by name only`,
        target: maxSorted,
      },
    },
  })

const idsOf = (accounts: readonly { id: string }[]) => accounts.map(({ id }) => id)

export type Figures = ReturnType<typeof createFigures>

export const createFigures = ({ accounts, ledgers, stats, alerts }: Deps) => {
  const valuesOf = ({ sort, days }: Order, ids: readonly string[]) =>
    sort === 'calls' ? stats.callsOf(ids, days) : ledgers.balances(ids)

  /** All direct sub-accounts with the value that they are sorted by. */
  const ranked = async (parent: AccountRecord, order: Order) => {
    const all: Ranked[] = []
    const page = { ancestorId: parent.id, direct: true, limit: batchSize, descending: false, long: true }
    const batches = pagesOf<AccountRecord>(batchSize, (last) =>
      accounts.page(last ? { ...page, after: [last.sortKey, last.id] } : page),
    )
    for await (const batch of batches) {
      const values = await valuesOf(order, idsOf(batch))
      all.push(...batch.map(({ id }) => ({ id, value: values.get(id) ?? 0 })))
      if (all.length > maxSorted) throw tooMany()
    }
    return all
  }

  const pageOfChildren = async (parent: AccountRecord, order: Order, request: PageRequest) => {
    if (order.sort === 'name') return accounts.page({ ...request, ancestorId: parent.id, direct: true })
    const found = pageOf(await ranked(parent, order), request)
    return (await Promise.all(found.map(({ id }) => accounts.find(id)))).filter((one) => one !== undefined)
  }

  return {
    async children(parent: AccountRecord, order: Order, request: PageRequest): Promise<Child[]> {
      const found = await pageOfChildren(parent, order, request)
      if (found.length === 0) return []
      const [balances, calls] = await Promise.all([
        ledgers.balances(idsOf(found)),
        stats.callsOf(idsOf(found), order.days),
      ])
      return Promise.all(
        found.map(async (account) => ({
          account,
          balance: balances.get(account.id) ?? 0,
          calls: calls.get(account.id) ?? 0,
          alerts: (await alerts.derived(account)).length,
        })),
      )
    },

    /** Sums of all accounts below, and what those whose reseller this account is were charged since a month (202611). */
    async descendants(top: AccountRecord, days: Span, sinceMonth: number) {
      const sums = { accounts: 0, disabled: 0, overdrawn: 0 }
      const charged = new Map<number, number>()
      const calls = new Map<number, Cell>()
      for await (const batch of accounts.descendants(top)) {
        const ids = idsOf(batch)
        const resellers = await Promise.all(batch.map(accounts.resellerOf))
        const sold = ids.filter((_, index) => resellers[index] === top.id)
        const balances = await ledgers.balances(ids)
        sums.accounts += batch.length
        sums.disabled += batch.filter(({ hidden }) => !hidden.enabled).length
        sums.overdrawn += [...balances.values()].filter((units) => units < 0).length
        for (const { month, units } of await ledgers.chargedByMonth(sold, sinceMonth))
          charged.set(month, (charged.get(month) ?? 0) + units)
        for (const cell of await stats.daysOf(ids, days)) {
          const known = calls.get(cell.start)
          if (known) addSums(known, cell)
          else calls.set(cell.start, cell)
        }
      }
      return {
        ...sums,
        charged: [...charged]
          .sort(([one], [other]) => one - other)
          .map(([month, units]) => ({
            month: `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`,
            amount: dollarsOfUnits(units),
          })),
        calls: [...calls.values()].sort(byStartAndGroup).map((cell) => statOf(cell, false)),
      }
    },
  }
}
