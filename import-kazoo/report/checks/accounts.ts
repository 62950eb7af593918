import { type AccountRecord, accountKind } from '../../../src/auth/identity.ts'
import { copiesDatabase } from '../../conversions/account-tree.rules.ts'
import { type PlannedAccount, treeOf } from '../../conversions/accounts.rules.ts'
import { type CheckDeps, compare, difference, type Tell } from './tools.ts'

const shown = (ids: readonly string[]) => (ids.length === 0 ? 'nobody' : ids.join(' '))

/** Every account of the plan is there, below whom and called what it is to be: one root, no cycles, no name twice. */
export const checkAccounts = async ({ run, checked, records, facts }: CheckDeps, tell: Tell) => {
  const { plan } = facts

  const judge = (planned: PlannedAccount, { id, doc, hidden }: AccountRecord, tree: readonly string[]) => {
    const place = `account ${id}`
    const above = treeOf(plan, id)
    compare(
      place,
      [
        ['tree', shown(above), shown(hidden.tree)],
        ['accounts above it', shown(above), shown(tree)],
        ['realm', planned.realm, doc.realm],
        ['is_reseller', planned.isReseller, hidden.isReseller],
      ],
      tell,
    )
  }

  /** Its name and its realm are what it is found by, and nobody else is. */
  const judgeNames = ({ id, realm, nameClaim }: PlannedAccount, held: ReadonlyMap<string, string>) => {
    const wanted = { account_name: nameClaim, realm: realm.toLowerCase() }
    for (const [name, value] of Object.entries(wanted))
      if (held.get(name) !== value)
        tell({
          place: `account ${id}`,
          reason: `${name}: it is to be found by ${value}, and is found by ${held.get(name) ?? 'nothing'}`,
        })
  }

  /** Those that went there while they were read here were told, and wait for a person. */
  const unplanned = async (ids: readonly string[]) => {
    const known = await run.known(copiesDatabase, ids)
    for (const id of ids)
      if (!known.has(id)) tell({ place: `account ${id}`, reason: 'it is here, and not in the source' })
  }

  const judgePage = async (ids: readonly string[]) => {
    const [trees, names] = [await checked.trees(ids), await checked.accountNames(ids)]
    for (const id of ids) {
      const planned = plan.accounts.get(id)
      const record = planned && (await records.find(id, accountKind, id))
      if (!planned || !record) continue
      judge(planned, record, trees.get(id) ?? [])
      judgeNames(planned, names.get(id) ?? new Map())
    }
    await unplanned(ids.filter((id) => !plan.accounts.has(id)))
    return [...trees.values()].filter((tree) => tree.length === 0).length
  }

  const missing = new Set(plan.accounts.keys())
  let roots = 0
  for await (const ids of checked.accounts()) {
    roots += await judgePage(ids)
    for (const id of ids) missing.delete(id)
  }
  for (const id of missing) tell({ place: `account ${id}`, reason: 'it is not there' })
  if (roots !== 1) tell({ place: 'the tree', reason: difference('accounts without a parent', 1, roots) })
}
