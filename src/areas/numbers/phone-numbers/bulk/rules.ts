import {
  billingIssue,
  chargesNotAccepted,
  type Failure,
  isFailure,
  validationError,
} from '../../../../lib/failure.ts'
import { isObject } from '../../../../lib/json.ts'
import { carrierModules } from '../carriers/carrier.ts'
import { numberErrorOf } from '../failures.ts'
import { numberStates } from '../schema.ts'

type NumberCells = Readonly<Record<string, string | undefined>>
type Json = Readonly<Record<string, unknown>>

const factColumns = [
  'e164',
  'account_name',
  'account_id',
  'previously_assigned_to',
  'state',
  'created',
  'modified',
  'used_by',
  'ported_in',
  'carrier_module',
] as const

interface Field {
  path: readonly string[]
  isFlag?: true
}

const flagField = (...path: string[]): Field => ({ path, isFlag: true })
const textField = (...path: string[]): Field => ({ path })

const fieldOf: Readonly<Record<string, Field>> = {
  'cnam.inbound': flagField('cnam', 'inbound_lookup'),
  'cnam.outbound': textField('cnam', 'display_name'),
  'e911.locality': textField('e911', 'locality'),
  'e911.name': textField('e911', 'caller_name'),
  'e911.region': textField('e911', 'region'),
  'e911.street_address': textField('e911', 'street_address'),
  'e911.extended_address': textField('e911', 'extended_address'),
  'e911.postal_code': textField('e911', 'postal_code'),
  'prepend.enabled': flagField('prepend', 'enabled'),
  'prepend.name': textField('prepend', 'name'),
  'prepend.number': textField('prepend', 'number'),
  'ringback.early': textField('ringback', 'early'),
  'ringback.transfer': textField('ringback', 'transfer'),
  force_outbound: flagField('force_outbound'),
  'failover.e164': textField('failover', 'e164'),
  'failover.sip': textField('failover', 'sip'),
}

export const featureColumns: readonly string[] = Object.keys(fieldOf)

export const numberColumns: readonly string[] = [...factColumns, ...featureColumns]

/** Prefix of columns of custom fields. */
export const ownFieldPrefix = 'opaque.'

// Names with a meaning for every JavaScript object.
const treacherous = new Set(['', '__proto__', 'constructor', 'prototype'])
const isFree = (path: readonly string[]) =>
  path.every((part) => !treacherous.has(part)) && !/^(?:_|pvt_|id$|used_by$)/.test(path[0] ?? '')

const fieldsByColumn: Readonly<Record<string, Field>> = {
  ...fieldOf,
  carrier_name: textField('carrier_name'),
}

const fieldNamed = (column: string): Field | undefined => {
  if (!column.startsWith(ownFieldPrefix)) return fieldsByColumn[column]
  const path = column.slice(ownFieldPrefix.length).split('.')
  return isFree(path) ? { path } : undefined
}

const noFields: Json = {}

const putAt = (doc: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown) => {
  if (rest.length === 0) {
    doc[first] = value
    return
  }
  const inner = isObject(doc[first]) ? doc[first] : {}
  doc[first] = inner
  putAt(inner, rest, value)
}

/** The public fields of the filled cells. */
export const publicFieldsIn = (cells: NumberCells): Record<string, unknown> => {
  const doc: Record<string, unknown> = {}
  for (const [column, cell] of Object.entries(cells)) {
    const field = cell ? fieldNamed(column) : undefined
    if (field) putAt(doc, field.path, field.isFlag ? cell === 'true' : cell)
  }
  return doc
}

const objectAt = (doc: Json, key: string): Json => {
  const part = doc[key]
  return isObject(part) ? part : noFields
}

export interface ShownNumber {
  id: string
  accountId: string
  state: string
  created: number
  modified: number
  usedBy: string
  carrier: string
  doc: Json
  hidden: { previouslyAssignedTo?: string; portedIn?: true }
}

/**
 * Written out for one object shape: building rows from a table of columns doubled the time of imports with 100,000
 * rows.
 */
export const numberRow = (number: ShownNumber, accountName: string | undefined) => {
  const { doc, hidden } = number
  const cnam = objectAt(doc, 'cnam')
  const e911 = objectAt(doc, 'e911')
  const prepend = objectAt(doc, 'prepend')
  const ringback = objectAt(doc, 'ringback')
  const failover = objectAt(doc, 'failover')
  return {
    e164: number.id,
    account_name: accountName,
    account_id: number.accountId || undefined,
    previously_assigned_to: hidden.previouslyAssignedTo,
    state: number.state,
    created: number.created,
    modified: number.modified,
    used_by: number.usedBy || undefined,
    ported_in: hidden.portedIn === true,
    carrier_module: number.carrier,
    'cnam.inbound': cnam.inbound_lookup,
    'cnam.outbound': cnam.display_name,
    'e911.locality': e911.locality,
    'e911.name': e911.caller_name,
    'e911.region': e911.region,
    'e911.street_address': e911.street_address,
    'e911.extended_address': e911.extended_address,
    'e911.postal_code': e911.postal_code,
    'prepend.enabled': prepend.enabled,
    'prepend.name': prepend.name,
    'prepend.number': prepend.number,
    'ringback.early': ringback.early,
    'ringback.transfer': ringback.transfer,
    force_outbound: doc.force_outbound,
    'failover.e164': failover.e164,
    'failover.sip': failover.sip,
  }
}

const isFlagText = (cell: string) => cell === 'true' || cell === 'false'
const isIn = (values: readonly string[]) => (cell: string) => values.includes(cell)

/** Forms of cells that are not empty. */
export const cellVerifiers: Readonly<Record<string, (cell: string) => boolean>> = {
  e164: (cell) => cell.startsWith('+'),
  account_id: (cell) => /^[0-9a-f]{32}$/.test(cell),
  carrier_module: isIn(carrierModules),
  state: isIn(numberStates),
  ported_in: isFlagText,
  'cnam.inbound': isFlagText,
  'prepend.enabled': isFlagText,
  force_outbound: isFlagText,
}

/** The column of a public field, for error messages. */
const columnOf = (path: string) =>
  Object.entries(fieldsByColumn).find(([, field]) => field.path.join('.') === path)?.[0] ?? path

const plainReasons: ReadonlySet<string> = new Set(['not_found', 'not_reconcilable'])

/** The content of the column `error` of a failed row. */
export const errorTextOf = (failure: Failure): string => {
  if (isFailure(failure, validationError))
    return `bad field(s) ${Object.keys(failure.details.problems).map(columnOf).join(' ')}`
  if (isFailure(failure, chargesNotAccepted)) return 'accept_charges'
  if (isFailure(failure, billingIssue)) return failure.details.message
  const told = numberErrorOf(failure)
  if (!told) return failure.kind.name
  return plainReasons.has(told.error) ? told.error : told.message
}
