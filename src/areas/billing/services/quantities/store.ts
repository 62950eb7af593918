import { newId } from '../../../../lib/ids.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, shape, text } from '../../../../storage/table.ts'
import type { DayCount, DaySum, QuantityMove } from './rules.ts'

const turns = shape({ doneAt: integer() })

const moved = shape({
  accountId: text(),
  id: text(),
  at: integer(),
  category: text(),
  item: text(),
  own: integer(),
  below: integer(),
})

const ownDayCounts = shape({ category: text(), item: text(), day: integer(), own: integer() })

const reshape: Statement = {
  sql: "UPDATE scheduled_jobs SET done_at = done_at + 1 WHERE name = 'quantities'",
  params: [],
  expect: { rows: 1, orElse: conflict },
}

/** Fails unless the tree has its version from before. Folds, moves and removals exclude each other by it. */
const takeTurn = (version: number): Statement => ({
  sql: "UPDATE scheduled_jobs SET done_at = done_at WHERE name = 'quantities' AND done_at = $1",
  params: [version],
  expect: { rows: 1, orElse: conflict },
})

const handOver = (accountId: string, receiver: string, sign: 1 | -1, at: number): Statement => ({
  sql: `INSERT INTO quantity_moves (account_id, id, at, category, item, own, below)
      SELECT CAST($2 AS TEXT), CAST($3 AS TEXT) || '/' || category || '/' || item, CAST($4 AS BIGINT), category, item,
          0, CAST($5 AS BIGINT) * (own + below)
        FROM quantities WHERE account_id = $1 AND own + below <> 0`,
  params: [accountId, receiver, newId(at), at, sign],
})

interface QuantityRow {
  category: string
  item: string
  own: number
  /** Quantities of the sub-accounts. */
  below: number
}

// Moves that are not folded yet are added in the same statement, so no fold can come in between. The look-up in the
// tree is a scalar query: it runs once for each of the few moves.
const quantitiesOf = `SELECT category, item, CAST(sum(own) AS BIGINT) AS own, CAST(sum(below) AS BIGINT) AS below FROM (
    SELECT category, item, own, below FROM quantities WHERE account_id = $1
    UNION ALL
    SELECT category, item, own, below FROM quantity_moves WHERE account_id = $1
    UNION ALL
    SELECT m.category, m.item, 0, m.own + m.below FROM quantity_moves m
      WHERE (SELECT t.distance FROM account_tree t WHERE t.account_id = m.account_id AND t.ancestor_id = $1) > 0
  ) AS counted
  GROUP BY category, item HAVING sum(own) <> 0 OR sum(below) <> 0 ORDER BY category, item`

// An index read, however many moves are not folded yet.
const ownQuantitiesOf = `SELECT category, item, CAST(sum(own) AS BIGINT) AS own FROM (
    SELECT category, item, own FROM quantities WHERE account_id = $1
    UNION ALL
    SELECT category, item, own FROM quantity_moves WHERE account_id = $1
  ) AS counted
  GROUP BY category, item HAVING sum(own) <> 0 ORDER BY category, item`

// Nothing for a deleted account.
const addTotals = `INSERT INTO quantities (account_id, category, item, own, below)
  SELECT account_id, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT)
    FROM records WHERE account_id = $1 AND kind = 'account' AND id = $1
  ON CONFLICT (account_id, category, item)
    DO UPDATE SET own = quantities.own + excluded.own, below = quantities.below + excluded.below`

const noteDay = `INSERT INTO quantity_days
    (account_id, category, item, day, addition, removal, own, below, manual, last_at)
  SELECT account_id, category, item, CAST($4 AS INTEGER), CAST($5 AS BIGINT), CAST($6 AS BIGINT), own, below,
      (SELECT d.manual FROM quantity_days d WHERE d.account_id = $1 AND d.category = $2 AND d.item = $3 AND d.day < $4
        ORDER BY d.day DESC LIMIT 1), CAST($7 AS BIGINT)
    FROM quantities WHERE account_id = $1 AND category = $2 AND item = $3
  ON CONFLICT (account_id, category, item, day) DO UPDATE SET
    addition = quantity_days.addition + excluded.addition,
    removal = quantity_days.removal + excluded.removal,
    own = excluded.own,
    below = excluded.below,
    last_at = excluded.last_at`

const foldSum = (sum: DaySum): Statement[] => {
  const { accountId, category, item, own, below, day, addition, removal, lastAt } = sum
  return [
    { sql: addTotals, params: [accountId, category, item, own, below] },
    { sql: noteDay, params: [accountId, category, item, day, addition, removal, lastAt] },
  ]
}

interface FoldTerms {
  guard: Statement
  treeVersion: number
}

export const createQuantityStore = ({ all, scan, writeUnrecorded, clock }: Store) => ({
  /** Changes whenever accounts move in the tree or leave it. */
  async treeVersion(): Promise<number> {
    const turn = turns.first(
      await all(`SELECT ${turns.columns} FROM scheduled_jobs WHERE name = 'quantities'`),
    )
    if (!turn) throw new Error('the lock row of the quantities is missing')
    return turn.doneAt
  },

  /** Counts an account and its sub-accounts for another parent. Moves that are not folded yet follow when they are. */
  move(set: ChangeSet, accountId: string, { from, to }: { from: string; to: string }) {
    const at = clock.now()
    set.statements.push(reshape, handOver(accountId, from, -1, at), handOver(accountId, to, 1, at))
  },

  /** Removes the counts of a deleted account, also from its parents. Its moves are dropped when they are folded. */
  remove(set: ChangeSet, accountId: string, parent: string | undefined) {
    set.add(reshape)
    if (parent !== undefined) set.add(handOver(accountId, parent, -1, clock.now()))
    set.run('DELETE FROM quantities WHERE account_id = $1', [accountId])
    set.run('DELETE FROM quantity_days WHERE account_id = $1', [accountId])
  },

  of: (accountId: string) => all<QuantityRow>(quantitiesOf, [accountId]),

  own: (accountId: string) => all<Omit<QuantityRow, 'below'>>(ownQuantitiesOf, [accountId]),

  /** The oldest moves that are not folded yet. */
  async waiting(limit: number): Promise<QuantityMove[]> {
    return moved.list(await all(`SELECT ${moved.columns} FROM quantity_moves ORDER BY id LIMIT $1`, [limit]))
  },

  /** The own counts at the end of each day on which they changed, oldest first. */
  async days(accountId: string): Promise<DayCount[]> {
    const rows = await scan(
      `SELECT ${ownDayCounts.columns} FROM quantity_days WHERE account_id = $1 ORDER BY category, item, day`,
      [accountId],
    )
    return ownDayCounts.list(rows)
  },

  /** Adds the sums of moves to the totals and deletes the moves. */
  fold: (moves: readonly QuantityMove[], sums: readonly DaySum[], terms: FoldTerms) =>
    writeUnrecorded([
      terms.guard,
      takeTurn(terms.treeVersion),
      ...moves.map(({ accountId, id }) => ({
        sql: 'DELETE FROM quantity_moves WHERE account_id = $1 AND id = $2',
        params: [accountId, id],
        expect: { rows: 1, orElse: conflict },
      })),
      ...sums.flatMap(foldSum),
    ]),
})
