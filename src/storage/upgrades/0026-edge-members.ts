import { AccessList, accessListProblems } from '../../lib/access-list.ts'
import { hasProblems } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { isObject, type Json } from '../../lib/json.ts'
import { AccountRateLimits, DeviceRateLimits } from '../../lib/packet-limits.ts'
import type { Run, Upgrade } from '../upgrades.ts'

const owners = "('account', 'device')"
const parts = "('access_list', 'rate_limits')"
const atOnce = 500

const memberOfPart: Record<string, string> = { access_list: 'access_lists', rate_limits: 'rate_limits' }

type Judge = (kind: string, value: Json) => boolean

/** What is sound of the members. What checks is loaded for stores that have any: every start would wait for it. */
const loadJudges = async (): Promise<Record<string, Judge>> => {
  const { Check } = await import('typebox/value')
  return {
    access_lists: (_kind, value) => Check(AccessList, value) && !hasProblems(accessListProblems(value)),
    rate_limits: (kind, value) =>
      kind === 'account'
        ? Check(AccountRateLimits, value) && !('per_minute' in value || 'per_second' in value)
        : Check(DeviceRateLimits, value) && !('account' in value || 'device' in value),
  }
}

const withoutUnsound = (judges: Record<string, Judge>, kind: string, doc: Json): Json =>
  Object.fromEntries(
    Object.entries(doc).filter(([key, value]) => {
      const judge = Object.hasOwn(judges, key) ? judges[key] : undefined
      return !judge || (isObject(value) && judge(kind, value))
    }),
  )

const keep = (run: Run, place: readonly string[], doc: Json) =>
  run('UPDATE records SET doc = $4, revision = $5 WHERE account_id = $1 AND kind = $2 AND id = $3', [
    ...place,
    JSON.stringify(doc),
    randomHex(16),
  ])

/** What records said of it by themselves was looked at by nobody: what is sound holds now, the rest goes. */
const judgeMembers = async (run: Run) => {
  let after: readonly string[] = ['', '', '']
  for (;;) {
    const rows = await run(
      `SELECT account_id, kind, id, doc FROM records
        WHERE kind IN ${owners} AND (doc LIKE '%"access_lists":%' OR doc LIKE '%"rate_limits":%')
          AND (account_id, kind, id) > ($1, $2, $3)
        ORDER BY account_id, kind, id LIMIT ${atOnce}`,
      after,
    )
    if (rows.length === 0) return
    const judges = await loadJudges()
    for (const { account_id, kind, id, doc } of rows) {
      after = [String(account_id), String(kind), String(id)]
      const before: Json = JSON.parse(String(doc))
      const sound = withoutUnsound(judges, String(kind), before)
      if (Object.keys(sound).length < Object.keys(before).length) await keep(run, after, sound)
    }
    if (rows.length < atOnce) return
  }
}

/** What stood beside the records held until now: it goes before what stood in them. */
const moveParts = async (run: Run) => {
  for (;;) {
    const rows = await run(
      `SELECT p.account_id, o.kind, p.id, o.doc, p.kind AS part_kind, p.doc AS part FROM records p
        JOIN records o ON o.account_id = p.account_id AND o.id = p.id AND o.kind IN ${owners}
        WHERE p.kind IN ${parts} ORDER BY p.account_id, p.id, p.kind LIMIT ${atOnce}`,
    )
    if (rows.length === 0) return
    await moveRows(run, rows)
  }
}

const moveRows = async (run: Run, rows: Awaited<ReturnType<Run>>) => {
  const docs = new Map<string, { place: string[]; doc: Json }>()
  for (const row of rows) {
    const [accountId, id, partKind] = [String(row.account_id), String(row.id), String(row.part_kind)]
    const key = `${accountId}/${id}`
    const known = docs.get(key) ?? {
      place: [accountId, String(row.kind), id],
      doc: JSON.parse(String(row.doc)) as Json,
    }
    known.doc[memberOfPart[partKind] as string] = JSON.parse(String(row.part))
    docs.set(key, known)
    await run('DELETE FROM records WHERE account_id = $1 AND kind = $2 AND id = $3', [
      accountId,
      partKind,
      id,
    ])
  }
  for (const { place, doc } of docs.values()) await keep(run, place, doc)
}

/** Access lists and packet limits are members of the records of accounts and devices. */
export const edgeMembers: Upgrade = {
  number: 26,
  title: 'access lists and packet limits stand in the records that they are of',
  statements: () => [],
  async rewrite(run) {
    await judgeMembers(run)
    await moveParts(run)
    await run(`DELETE FROM records WHERE kind IN ${parts}`)
  },
}
