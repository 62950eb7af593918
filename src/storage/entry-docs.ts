// Large records are stored as merge patches of the record in an earlier entry, their base, so that a small edit takes little space.
import { dayMs } from '../lib/gregorian.ts'
import type { Json } from '../lib/json.ts'
import { mergeObject, patchBetween } from '../lib/json-merge.ts'
import type { Database } from './db.ts'
import type { SqlWords } from './sql-words.ts'
import { optional, shape, text } from './table.ts'

/** JSON texts: records, or merge patches of the record after `baseId`. A base names itself. */
interface EntryDocs {
  beforeDoc: string | undefined
  afterDoc: string | undefined
  baseId: string | undefined
}

interface Edit {
  kind: string
  id: string
  before?: string
  after?: string
}

export interface Base {
  id: string
  doc: Json
}

/** Condition of the partial index `audit_log_bases`. */
export const isBase = 'base_id = id'
export const isNoBase = '(base_id IS NULL OR base_id <> id)'

// Characters. Two copies of smaller records cost less than a base.
const minPatched = 4096

/** Edits refer to a base up to this age. */
const baseUsedMs = 30 * dayMs
/** One day longer, for clocks that differ. */
export const baseStoredMs = baseUsedMs + dayMs

const isLarge = (...docs: (string | undefined)[]) =>
  docs.some((doc) => doc !== undefined && doc.length >= minPatched)

const patchText = (from: Json, to: string) => {
  const patch = patchBetween(from, JSON.parse(to))
  return patch && JSON.stringify(patch)
}

/** Undefined if they are not much shorter. */
const asPatches = (base: Base, before: string, after: string): EntryDocs | undefined => {
  const beforeDoc = patchText(base.doc, before)
  const afterDoc = patchText(base.doc, after)
  if (beforeDoc === undefined || afterDoc === undefined) return undefined
  const isShort = (beforeDoc.length + afterDoc.length) * 4 < before.length + after.length
  return isShort ? { beforeDoc, afterDoc, baseId: base.id } : undefined
}

/** An edit that differs much from the base becomes a base. */
export const entryDocs = (
  id: string,
  { before, after }: { before: string | undefined; after: string | undefined },
  base: Base | undefined,
): EntryDocs => {
  const whole = { beforeDoc: before, afterDoc: after, baseId: undefined }
  if (after === undefined || !isLarge(before, after)) return whole
  if (before === undefined) return { ...whole, baseId: id }
  const patches = base && asPatches(base, before, after)
  if (patches) return patches
  const beforeDoc = patchText(JSON.parse(after), before)
  return beforeDoc === undefined ? whole : { beforeDoc, afterDoc: after, baseId: id }
}

const bases = shape({ id: text(), afterDoc: optional(text()) })

const newestBase = `SELECT ${bases.columns} FROM audit_log
  WHERE account_id = $1 AND kind = $2 AND record_id = $3 AND ${isBase} AND at >= $4 ORDER BY id DESC LIMIT 1`

export const isPatchable = ({ before, after }: Edit) =>
  before !== undefined && after !== undefined && isLarge(before, after)

export const findBase = async (
  all: Database['all'],
  accountId: string,
  { kind, id }: Edit,
  now: number,
): Promise<Base | undefined> => {
  const found = bases.first(await all(newestBase, [accountId, kind, id, now - baseUsedMs]))
  return found?.afterDoc === undefined ? undefined : { id: found.id, doc: JSON.parse(found.afterDoc) }
}

/** Approximate. */
export const recordBytes = `coalesce(octet_length(before_doc), 0) + coalesce(octet_length(after_doc), 0) +
  2 * coalesce((SELECT octet_length(base.after_doc) FROM audit_log base
    WHERE base.account_id = audit_log.account_id AND base.id = audit_log.base_id), 0)`

const merged = (base: Json | undefined, patch: string | undefined) =>
  base === undefined || patch === undefined ? undefined : JSON.stringify(mergeObject(base, JSON.parse(patch)))

type Entry = EntryDocs & { accountId: string; id: string }

const withWholeBefore = <E extends Entry>(base: E): E =>
  base.beforeDoc === undefined || base.afterDoc === undefined
    ? base
    : { ...base, beforeDoc: merged(JSON.parse(base.afterDoc), base.beforeDoc) }

export const withWholeDocs = async <E extends Entry>(
  { all, words }: Pick<Database, 'all'> & { words: SqlWords },
  entries: readonly E[],
): Promise<E[]> => {
  const places = new Map<string, string>()
  for (const { accountId, id, baseId } of entries)
    if (baseId !== undefined && baseId !== id) places.set(baseId, accountId)
  const docs = new Map<string, Json>()
  if (places.size > 0) {
    const sql = `SELECT ${bases.columns} FROM ${words.pairs('$1')} CROSS JOIN audit_log
      WHERE id = pairs.a AND account_id = pairs.b`
    for (const { id, afterDoc } of bases.list(await all(sql, [JSON.stringify([...places])])))
      if (afterDoc !== undefined) docs.set(id, JSON.parse(afterDoc))
  }
  return entries.map((entry) => {
    const { id, baseId, beforeDoc, afterDoc } = entry
    if (baseId === undefined) return entry
    if (baseId === id) return withWholeBefore(entry)
    const base = docs.get(baseId)
    return { ...entry, beforeDoc: merged(base, beforeDoc), afterDoc: merged(base, afterDoc) }
  })
}
