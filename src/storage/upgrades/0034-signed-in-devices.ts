import { isObject, type Json } from '../../lib/json.ts'
import { memberOf } from '../../lib/member.ts'
import type { Run, Upgrade } from '../upgrades.ts'

const atOnce = 500

const claim = `INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
  VALUES ($1, 'hotdesk_user', $2, $1, 'device', $3) ON CONFLICT DO NOTHING`

const usersIn = (doc: string): string[] => {
  const users = memberOf(JSON.parse(doc) as Json, 'hotdesk', 'users')
  return isObject(users) ? Object.keys(users) : []
}

const claimAll = async (run: Run) => {
  let after: readonly string[] = ['', '']
  for (;;) {
    const rows = await run(
      `SELECT account_id, id, doc FROM records
        WHERE kind = 'device' AND doc LIKE '%"hotdesk":%' AND (account_id, id) > ($1, $2)
        ORDER BY account_id, id LIMIT ${atOnce}`,
      after,
    )
    for (const { account_id, id, doc } of rows) {
      after = [String(account_id), String(id)]
      for (const userId of usersIn(String(doc)))
        await run(claim, [after[0] ?? '', `${userId}/${id}`, String(id)])
    }
    if (rows.length < atOnce) return
  }
}

/** Calls to a user ring where they have signed in. */
export const signedInDevices: Upgrade = {
  number: 34,
  title: 'devices are found by the users who signed in there',
  statements: () => [],
  rewrite: claimAll,
}
