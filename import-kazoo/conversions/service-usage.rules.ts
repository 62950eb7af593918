import { unixOfGregorian } from '../../src/lib/gregorian.ts'
import { isId } from '../../src/lib/ids.ts'
import { type Json, present } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { dayNumber, monthOf } from '../../src/lib/time-key.ts'
import type { Converted, Draft, KazooDocument } from '../documents/document.ts'
import { derivedId, integerIn, isGone, listIn, textIn, timesOf } from '../documents/fields.ts'
import { converted, draftOf, notesOf } from './findings.ts'
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
  return `${monthOf(unixOfGregorian(created) * 1000)}-${derivedId(database, id, 'audit')}`
}

export const convertAudit = (document: KazooDocument, account: { id: string; name: string }): Converted => {
  const { fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  return notesOf(document).imported('service_audit', account.id, {
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

type Move = Pick<Day, 'category' | 'item'> & { delta: number; quantity: number | undefined }

/**
 * A row of a year's database; without an item it is about its whole category. Older rows name the item in
 * `source`; in newer ones that is the account.
 */
const rowMove = (row: unknown): Move[] => {
  const [category, source] = [textIn(row, 'category'), textIn(row, 'source')]
  const delta = integerIn(row, 'quantity')
  if (category === undefined || delta === undefined) return []
  const item = textIn(row, 'item') ?? (source === undefined || isId(source) ? category : source)
  return [{ category, item, delta, quantity: integerIn(row, 'billable') }]
}

/** An item of an audited invoice. */
const itemMove = (invoiced: unknown): Move[] => {
  const [category, item] = [textIn(invoiced, 'category'), textIn(invoiced, 'item')]
  const delta = integerIn(invoiced, 'changes', 'difference', 'quantity') ?? 0
  if (category === undefined || item === undefined || delta === 0) return []
  return [{ category, item, delta, quantity: integerIn(invoiced, 'quantity') }]
}

const movesIn = ({ fields, type }: KazooDocument) =>
  type === 'audit_log'
    ? listIn(memberOf(fields, 'invoice', 'items')).flatMap(itemMove)
    : listIn(fields.audit).flatMap(rowMove)

/** A record that sums up several documents. */
const sumDraft = (as: string, accountId: string, at: number, name: readonly unknown[], facts: Json) => {
  const id = name.map(String).map(encodeURIComponent).join('/')
  return draftOf({ id, fields: { pvt_created: at } }, as, accountId, { facts })
}

/** Memory grows with the number of days that have changes. */
export const createDays = () => {
  const days = new Map<string, Day>()
  return {
    /** A document of a year's database or, without one, of type `audit_log`. */
    add(document: KazooDocument) {
      if (isGone(document.fields)) return
      const { created } = timesOf(document.fields)
      const day = dayNumber(unixOfGregorian(created) * 1000)
      for (const { category, item, delta, quantity } of movesIn(document)) {
        const key = JSON.stringify([day, category, item])
        const known = days.get(key) ?? { addition: 0, removal: 0, quantity: 0, lastAt: 0 }
        days.set(key, {
          ...{ category, item, day },
          addition: known.addition + Math.max(0, delta),
          removal: known.removal + Math.max(0, -delta),
          quantity: (created >= known.lastAt ? quantity : undefined) ?? known.quantity,
          lastAt: Math.max(created, known.lastAt),
        })
      }
    },

    drafts: (accountId: string): Draft[] =>
      Array.from(days.values(), ({ lastAt, ...day }) =>
        sumDraft('service_day', accountId, lastAt, [day.day, day.category, day.item], day),
      ),
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
  const seconds = integerIn(fields, 'seconds') ?? 0
  if (isGone(fields) || allotment === undefined || seconds <= 0) return undefined
  const { created } = timesOf(fields)
  return { allotment, seconds, minute: created - (created % minuteSeconds) }
}

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

    drafts: (accountId: string): Draft[] =>
      Array.from(uses.values(), (use) =>
        sumDraft('allotment_use', accountId, use.minute, [use.minute, use.allotment], { ...use }),
      ),
  }
}
