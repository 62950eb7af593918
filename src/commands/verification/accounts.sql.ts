import type { Check } from '../../lib/check.ts'
import { messageOfReading } from '../../lib/error-facts.ts'
import { datastoreConflict, isFailure } from '../../lib/failure.ts'
import type { Store } from '../../storage/store.ts'

const accountsPerBatch = 500

const someAccounts = `SELECT r.account_id, r.tally,
    (SELECT count(*) FROM account_tree t WHERE t.ancestor_id = r.account_id) AS below,
    (SELECT count(*) FROM account_tree t WHERE t.account_id = r.account_id
      AND NOT EXISTS (SELECT 1 FROM records a
        WHERE a.account_id = t.ancestor_id AND a.kind = 'account' AND a.id = t.ancestor_id)) AS orphaned
  FROM records r WHERE r.kind = 'account' AND r.id = r.account_id AND r.account_id > $1
  ORDER BY r.account_id LIMIT ${accountsPerBatch}`

// Values may be digests of secrets: they are not printed.
const lostClaims = `SELECT c.holder_account_id, c.name, c.kind, c.record_id FROM claims c WHERE NOT EXISTS (
    SELECT 1 FROM records r WHERE r.account_id = c.holder_account_id AND r.kind = c.kind AND r.id = c.record_id)
  ORDER BY c.account_id, c.name, c.value LIMIT 1000`

type Differences = (
  accountId: string,
) => Promise<readonly { category: string; item: string; delta: number }[]>

/** Account by account: those below it, the tree above it, and what it has as its services count it. */
export const checkAccounts = ({ scan }: Pick<Store, 'scan'>, differences: Differences): Check => ({
  name: 'counts',
  async run(tell) {
    let seen = 0
    let after = ''
    for (;;) {
      const rows = await scan(someAccounts, [after])
      for (const { account_id, tally, below, orphaned } of rows) {
        const place = `account ${account_id}`
        if (Number(tally) !== Number(below))
          tell({ place, reason: `it counts ${tally} sub-accounts, but has ${below}` })
        if (Number(orphaned) > 0) tell({ place, reason: 'one of its parent accounts does not exist' })
        for (const reason of await wrongCounts(differences(String(account_id)))) tell({ place, reason })
      }
      seen += rows.length
      const last = rows.at(-1)
      if (!last) return seen
      after = String(last.account_id)
    }
  },
})

/** An account that changes continuously while it is counted cannot be checked. */
const wrongCounts = async (found: ReturnType<Differences>): Promise<string[]> => {
  try {
    return (await found).map(
      ({ category, item, delta }) => `its count of ${category} ${item} is wrong by ${-delta}`,
    )
  } catch (error) {
    if (isFailure(error, datastoreConflict)) return []
    return [`its records cannot be counted: ${messageOfReading(error)}`]
  }
}

export const checkNames = ({ scan }: Pick<Store, 'scan'>): Check => ({
  name: 'names',
  async run(tell) {
    for (const { holder_account_id, name, kind, record_id } of await scan(lostClaims))
      tell({
        place: `account ${holder_account_id}`,
        reason: `a ${name} is held by the ${kind} ${record_id}, which does not exist`,
      })
    const [row] = await scan('SELECT count(*) AS count FROM claims')
    return Number(row?.count)
  },
})
