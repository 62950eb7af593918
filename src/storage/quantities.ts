import { newId } from '../lib/ids.ts'
import { type ChangeSet, conflict } from './change-set.ts'
import type { Statement } from './db.ts'
import type { Store } from './store.ts'
import { integer, shape } from './table.ts'

const turns = shape({ doneAt: integer() })

const reshape: Statement = {
  sql: "UPDATE rounds SET done_at = done_at + 1 WHERE name = 'quantities'",
  params: [],
  expect: { rows: 1, orElse: conflict },
}

/** Another number whenever accounts have moved in the tree or left it. */
export const treeVersion = async ({ all }: Pick<Store, 'all'>): Promise<number> => {
  const turn = turns.first(await all(`SELECT ${turns.columns} FROM rounds WHERE name = 'quantities'`))
  if (!turn) throw new Error('nobody takes turns with the quantities')
  return turn.doneAt
}

/**
 * Fails unless the tree is still as it was when its version was read. Folding, moving and removing take turns by it:
 * what one of them reads, no other changes before it is done.
 */
export const takeTurn = (version: number): Statement => ({
  sql: "UPDATE rounds SET done_at = done_at WHERE name = 'quantities' AND done_at = $1",
  params: [version],
  expect: { rows: 1, orElse: conflict },
})

const handOver = (set: ChangeSet, accountId: string, receiver: string, sign: 1 | -1, at: number) =>
  set.run(
    `INSERT INTO quantity_moves (account_id, id, at, category, item, own, below)
      SELECT CAST($2 AS TEXT), CAST($3 AS TEXT) || '/' || category || '/' || item, CAST($4 AS BIGINT), category, item,
          0, CAST($5 AS BIGINT) * (own + below)
        FROM quantities WHERE account_id = $1 AND own + below <> 0`,
    [accountId, receiver, newId(at), at, sign],
  )

/**
 * What an account and those below it have counts above another parent from now on. To be added before the tree
 * changes. Moves that are not folded yet go to whoever stands above when they are.
 */
export const moveQuantities = (
  set: ChangeSet,
  accountId: string,
  { from, to }: { from: string; to: string },
  at: number,
) => {
  set.statements.push(reshape)
  handOver(set, accountId, from, -1, at)
  handOver(set, accountId, to, 1, at)
}

/** What a removed account had counts no more. Its moves that are not folded yet are dropped when they are. */
export const removeQuantities = (set: ChangeSet, accountId: string, parent: string, at: number) => {
  set.statements.push(reshape)
  handOver(set, accountId, parent, -1, at)
  set.run('DELETE FROM quantities WHERE account_id = $1', [accountId])
  set.run('DELETE FROM quantity_days WHERE account_id = $1', [accountId])
}
