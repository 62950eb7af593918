// Alerts of the database `alerts`: of those that are still to be seen.

import { keysOf } from '../../../src/areas/events/alerts/rules.ts'
import { alertKeys } from '../../../src/areas/events/alerts/schema.ts'
import type { Json } from '../../../src/lib/json.ts'
import { memberOf } from '../../../src/lib/member.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { integerIn, isGone, textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { converted, finding, imported } from '../findings.ts'
import { keepDocument } from '../kept/rules.ts'
import type { OwnerContext } from '../owners.ts'

interface AlertContext extends OwnerContext {
  /** Gregorian seconds: what ended before is left out. */
  now: number
}

interface Pair {
  type: string
  value: string | string[]
}

const pairsIn = (value: unknown): Pair[] =>
  (Array.isArray(value) ? value : []).flatMap((entry) => {
    const type = textIn(entry, 'type')
    const said = memberOf(entry, 'value')
    const isList = Array.isArray(said) && said.every((one) => typeof one === 'string')
    return type !== undefined && (typeof said === 'string' || isList) ? [{ type, value: said }] : []
  })

const isSomebody = (pair: Pair) => keysOf(pair).length > 0

const audiences = ['all', 'users', 'admins']

/** Older alerts name accounts and people apart: these of those. */
const combined = (accounts: readonly Pair[], people: readonly Pair[], senderId: string): Pair[] =>
  accounts.flatMap(({ value: account }) => {
    const values = people.length === 0 ? ['users'] : people.map(({ value }) => value)
    return values.flatMap((value): Pair[] => {
      if (typeof account !== 'string' || typeof value !== 'string') return []
      if (account === 'descendants') return [{ type: account, value: [senderId, value] }]
      return [{ type: account, value }]
    })
  })

/** Everybody whom an alert is for, in the words of today. */
const recipientsOf = (fields: Json): { to: Pair[]; lost: Pair[] } => {
  const pairs = pairsIn(fields.to)
  const accounts = pairs.filter(({ type }) => type === 'account')
  const people = pairs.filter(
    ({ type, value }) =>
      accounts.length > 0 && type === 'user' && typeof value === 'string' && audiences.includes(value),
  )
  const plain = pairs.filter((pair) => !accounts.includes(pair) && !people.includes(pair))
  const all = [...plain, ...combined(accounts, people, textIn(fields, 'pvt_account_id') ?? '')]
  return { to: all.filter(isSomebody), lost: all.filter((pair) => !isSomebody(pair)) }
}

const sendersOf = (fields: Json): Json[] => {
  const found = pairsIn(fields.from).filter(
    ({ type, value }) => ['account', 'user'].includes(type) && typeof value === 'string',
  )
  const sender = textIn(fields, 'pvt_account_id')
  if (found.length > 0 || sender === undefined) return found.map((pair) => ({ ...pair }))
  return [{ type: 'account', value: sender }]
}

const textOf = ({ type, value }: Pair) => [type, value].flat().join(' ')

const isOver = (fields: Json, now: number) => {
  const end = integerIn(fields, 'expiration_date')
  return end !== undefined && end <= now
}

const alertDoc = (fields: Json, to: readonly Pair[]): Json => ({
  ...Object.fromEntries(Object.entries(fields).filter(([key]) => alertKeys.includes(key))),
  from: sendersOf(fields),
  to,
})

export const convertAlert = (document: KazooDocument, { systemId, now }: AlertContext): Converted => {
  const { fields } = document
  if (isGone(fields) || isOver(fields, now)) return converted(document, 'skipped')
  const { to, lost } = recipientsOf(fields)
  const findings = lost.map((pair) =>
    finding(document, to.length > 0 ? 'repaired' : 'needs_hand', 'alert_to_nobody', {
      field: 'to',
      old: textOf(pair),
    }),
  )
  if (to.length === 0) return keepDocument(document, systemId, { findings })
  return imported(document, 'alert', systemId, { doc: alertDoc(fields, to), findings })
}

/** The account that an alert comes from; the master account if the server or a person sent it. */
const exportedSender = ({ from }: Json, masterId: string) => {
  const account = pairsIn(from).find(({ type }) => type === 'account')
  return typeof account?.value === 'string' ? account.value : masterId
}

/** The document of an alert; those that the server made of what it saw are its own. */
export const exportAlert = (record: OwnRecord, masterId: string): LeavingDocument[] => {
  if (record.hidden.cause !== undefined) return []
  const accountId = exportedSender(record.doc, masterId)
  return [exported('alert', record, { database: 'alerts', accountId })]
}
