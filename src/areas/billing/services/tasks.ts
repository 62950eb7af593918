import { accountAdmin } from '../../../auth/policies.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { OutputAction, OutputPart, TaskAction } from '../../work/tasks/operations.ts'
import type { QuantityReader } from './quantities/operations.ts'
import type { MonthCount } from './quantities/rules.ts'

const accountsPerPart = 50

const monthColumns = ['account_id', 'year', 'month', 'category', 'item', 'quantity_bom', 'quantity_eom']

const monthRowOf = (accountId: string, { month, category, item, atBeginning, atEnd }: MonthCount) => ({
  account_id: accountId,
  year: String(Math.floor(month / 100)),
  month: String(month % 100).padStart(2, '0'),
  category,
  item,
  quantity_bom: atBeginning,
  quantity_eom: atEnd,
})

const cursorIn = (position: string | undefined): { after?: readonly [string, string] } =>
  position === undefined ? {} : { after: JSON.parse(position) }

export const createServiceTasks = (accounts: Accounts, quantities: QuantityReader): TaskAction[] => {
  async function* parts({ account }: { account: { id: string } }, position: string | undefined) {
    let place = cursorIn(position)
    for (;;) {
      const below = await accounts.page({
        ancestorId: account.id,
        direct: false,
        limit: accountsPerPart,
        descending: false,
        long: true,
        ...place,
      })
      const last = below.at(-1)
      if (!last) return
      const rows = []
      for (const { id } of below)
        for (const count of await quantities.months(id)) rows.push(monthRowOf(id, count))
      const after = [last.sortKey, last.id] as const
      yield { rows, position: JSON.stringify(after) } satisfies OutputPart
      place = { after }
    }
  }

  const descendantQuantities: OutputAction = {
    category: 'services',
    action: 'descendant_quantities',
    input: 'none',
    description: 'List per-month descendant account quantities',
    doc: [
      'The quantities of each sub-account by item at the beginning and end of a month.',
      'Cells are empty if there was no item yet, or the month has not ended.',
    ].join('\n'),
    allow: accountAdmin,
    columns: monthColumns,
    parts,
  }

  return [descendantQuantities]
}
