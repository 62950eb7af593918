import { memberOf } from '../../lib/member.ts'
import type { Run, Upgrade } from '../upgrades.ts'

const batchSize = 500

const nameKey = (name: string) =>
  name
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '')

const claimOf = "account_id = 'system' AND name = 'account_name' AND value"

/** Gives an account the claim of its name. An account whose new key is taken claims it with its id. */
const claimName = async (run: Run, id: string, name: string, hidden: { nameClaim?: string }) => {
  const key = nameKey(name)
  if (hidden.nameClaim === undefined || hidden.nameClaim === key || hidden.nameClaim === `${key}/${id}`)
    return
  const taken = await run(`SELECT value FROM claims WHERE ${claimOf} = $1`, [key])
  const nameClaim = taken.length > 0 ? `${key}/${id}` : key
  await run(`UPDATE claims SET value = $2 WHERE ${claimOf} = $1`, [hidden.nameClaim, nameClaim])
  await run("UPDATE records SET hidden = $2 WHERE account_id = $1 AND kind = 'account' AND id = $1", [
    id,
    JSON.stringify({ ...hidden, nameClaim }),
  ])
}

/** Combining marks are part of an account's name, and names are compared in NFC. */
export const accountNames: Upgrade = {
  number: 39,
  title: 'account names are claimed with their combining marks',
  statements: () => [],
  async rewrite(run) {
    let after = ''
    for (;;) {
      const rows = await run(
        `SELECT id, doc, hidden FROM records WHERE kind = 'account' AND account_id > $1
          ORDER BY account_id LIMIT ${batchSize}`,
        [after],
      )
      for (const row of rows) {
        const id = String(row.id)
        const name = memberOf(JSON.parse(String(row.doc)), 'name')
        await claimName(run, id, String(name), JSON.parse(String(row.hidden)))
        after = id
      }
      if (rows.length < batchSize) return
    }
  },
}
