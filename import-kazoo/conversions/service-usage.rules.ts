import { unixOfGregorian } from '../../src/lib/gregorian.ts'
import { isId } from '../../src/lib/ids.ts'
import { type Json, present } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { Converted, Draft, KazooDocument } from '../documents/document.ts'
import { derivedId, integerIn, isGone, textIn, timesOf } from '../documents/fields.ts'
import { converted, imported } from './findings.ts'
import { bookkeeperIn } from './ledgers.rules.ts'
import { objectIn } from './tables.ts'

// Version 5 stores the changes by day in databases of years; for 4.3 they are computed from the audit log. A
// year's database takes precedence.

const statuses: ReadonlySet<string> = new Set(['completed', 'failed'])

const textsIn = (value: unknown) =>
  (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === 'string')

/** Open audits are never reported again. */
const endOf = (fields: Json) => {
  const status = textIn(fields, 'status') ?? 'completed'
  return statuses.has(status)
    ? present({ status, reason: textIn(fields, 'reason'), message: textIn(fields, 'message') })
    : { status: 'failed', reason: 'unknown_at_import' }
}

const auditIn = (fields: Json, account: { id: string; name: string }): Json => {
  const audit = objectIn(fields, 'audit') ?? {}
  const changes = objectIn(audit, 'changes') ?? {}
  return {
    ...audit,
    account: { ...account, ...objectIn(audit, 'account') },
    changes: {
      ...changes,
      type: textsIn(changes.type),
      account_id: textIn(changes, 'account_id') ?? account.id,
      account_name: textIn(changes, 'account_name') ?? account.name,
    },
  }
}

const idOf = ({ database, id, fields }: KazooDocument) => {
  if (/^\d{6}-[0-9a-f]+$/.test(id)) return id
  const { created } = timesOf(fields)
  return `${dayOf(created).slice(0, 6)}-${derivedId(database, id, 'audit')}`
}

/** `20250214` */
const dayOf = (gregorian: number) =>
  new Date(unixOfGregorian(gregorian) * 1000).toISOString().slice(0, 10).replaceAll('-', '')

export const convertAudit = (document: KazooDocument, account: { id: string; name: string }): Converted => {
  const { fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  return imported(document, 'service_audit', account.id, {
    id: idOf(document),
    doc: {
      ...endOf(fields),
      audit: auditIn(fields, account),
      invoice: objectIn(fields, 'invoice') ?? {},
      // Results may contain payment data.
      bookkeeper: { ...bookkeeperIn(fields, account.id), results: [] },
    },
  })
}

interface Day {
  category: string
  item: string
  day: number
  addition: number
  removal: number
  quantity: number
  lastAt: number
}

interface Move {
  category: string
  item: string
  delta: number
  quantity: number | undefined
}

const moved = (known: Day, { delta, quantity }: Move, at: number): Day => ({
  ...known,
  addition: known.addition + Math.max(0, delta),
  removal: known.removal + Math.max(0, -delta),
  quantity: (at >= known.lastAt ? quantity : undefined) ?? known.quantity,
  lastAt: Math.max(at, known.lastAt),
})

/** Older rows name the item in `source`; in newer ones it is the account. */
const itemOf = (row: unknown, category: string) => {
  const source = textIn(row, 'source')
  return textIn(row, 'item') ?? (source === undefined || isId(source) ? category : source)
}

/** A row without an item is about its whole category. */
const rowMove = (row: unknown): Move[] => {
  const category = textIn(row, 'category')
  const delta = integerIn(row, 'quantity')
  if (category === undefined || delta === undefined) return []
  const item = itemOf(row, category)
  return [{ category, item, delta, quantity: integerIn(row, 'billable') }]
}

const itemMove = (item: unknown): Move[] => {
  const [category, name] = [textIn(item, 'category'), textIn(item, 'item')]
  const delta = integerIn(item, 'changes', 'difference', 'quantity')
  if (category === undefined || name === undefined || delta === undefined || delta === 0) return []
  return [{ category, item: name, delta, quantity: integerIn(item, 'quantity') }]
}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

const movesIn = ({ fields, type }: KazooDocument) =>
  type === 'audit_log'
    ? listIn(memberOf(fields, 'invoice', 'items')).flatMap(itemMove)
    : listIn(fields.audit).flatMap(rowMove)

const dayDraft = (accountId: string, { lastAt, ...facts }: Day): Draft => ({
  as: 'service_day',
  accountId,
  id: [String(facts.day), facts.category, facts.item].map(encodeURIComponent).join('/'),
  created: lastAt,
  modified: lastAt,
  doc: {},
  facts,
  files: [],
})

/** Memory grows with the number of days that have changes. */
export const createDays = () => {
  const days = new Map<string, Day>()
  return {
    /** A document of a year's database or, without one, of type `audit_log`. */
    add(document: KazooDocument) {
      if (isGone(document.fields)) return
      const { created } = timesOf(document.fields)
      const day = Number(dayOf(created))
      for (const move of movesIn(document)) {
        const { category, item } = move
        const key = JSON.stringify([day, category, item])
        const nothing = { category, item, day, addition: 0, removal: 0, quantity: 0, lastAt: 0 }
        days.set(key, moved(days.get(key) ?? nothing, move, created))
      }
    },

    drafts: (accountId: string): Draft[] => Array.from(days.values(), (day) => dayDraft(accountId, day)),
  }
}

// Use of included minutes matters only within its cycle, so only the newest months are read.

interface Use {
  allotment: string
  minute: number
  seconds: number
}

const minuteSeconds = 60

/** Undefined if the document names no use. */
const useIn = ({ fields }: KazooDocument): Use | undefined => {
  const allotment = textIn(fields, 'classification')
  const seconds = integerIn(fields, 'seconds')
  if (isGone(fields) || allotment === undefined || seconds === undefined || seconds <= 0) return undefined
  const { created } = timesOf(fields)
  return { allotment, seconds, minute: created - (created % minuteSeconds) }
}

const useDraft = (accountId: string, use: Use): Draft => ({
  as: 'allotment_use',
  accountId,
  id: [String(use.minute), use.allotment].map(encodeURIComponent).join('/'),
  created: use.minute,
  modified: use.minute,
  doc: {},
  facts: { ...use },
  files: [],
})

/** Memory grows with the number of minutes that have use. */
export const createUses = () => {
  const uses = new Map<string, Use>()
  return {
    add(document: KazooDocument): boolean {
      const use = useIn(document)
      if (!use) return false
      const key = JSON.stringify([use.allotment, use.minute])
      uses.set(key, { ...use, seconds: use.seconds + (uses.get(key)?.seconds ?? 0) })
      return true
    },

    drafts: (accountId: string): Draft[] => Array.from(uses.values(), (use) => useDraft(accountId, use)),
  }
}
