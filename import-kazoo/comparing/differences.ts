import { hash } from 'node:crypto'
import type { Fault } from '../../src/lib/check.ts'
import { type Difference, differencesBetween } from '../../src/lib/differences.ts'
import { isObject, type Json } from '../../src/lib/json.ts'

/** One difference between the systems. */
export interface ReportedDifference {
  account_id?: string
  question: string
  id?: string
  /** `status`, `missing`, `extra`, `order`, the path of a field, or without values a sentence. */
  what: string
  there?: unknown
  here?: unknown
  /** The reason, if the import or the modification times give one. */
  why?: string
}

export type ComparedPlace = Pick<ReportedDifference, 'account_id' | 'question' | 'id'>

/** A difference at a place, which it may name more precisely. */
export type FoundDifference = Omit<ReportedDifference, 'question'> & Partial<ComparedPlace>

export const reportedAt = (place: ComparedPlace, found: readonly FoundDifference[]): ReportedDifference[] =>
  found.map((one) => ({ ...place, ...one }))

export const foundIn = (differences: readonly Difference[]): FoundDifference[] =>
  differences.map(({ path, from, to }) => ({ what: path, there: from, here: to }))

const sentences: Readonly<Record<string, string>> = {
  missing: 'is missing',
  extra: 'is not in the source',
  order: 'has another position',
}

const valueText = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 120))

/** One wording for all differences. */
export const faultOf = (difference: ReportedDifference): Fault => {
  const { account_id: accountId, question, id, what, there, here, why } = difference
  const account = accountId === undefined ? [] : [`account ${accountId}`]
  const reason =
    there === undefined && here === undefined
      ? (sentences[what] ?? what)
      : `${what}: expected ${valueText(there)}, found ${valueText(here)}`
  return {
    place: [...account, question, ...(id === undefined ? [] : [id])].join(', '),
    reason: why === undefined ? reason : `${reason} (${why})`,
  }
}

export interface Question {
  name: string
  /** After `/v2/accounts/{id}`. */
  path: string
  query?: Readonly<Record<string, string | number>>
  /** A record, a list whose order counts, or a list whose records are also read. */
  as: 'record' | 'list' | 'records'
  /** Adds `created_from` and `created_to`. */
  isTimed?: true
}

export const questions: readonly Question[] = [
  { name: 'account', path: '', as: 'record' },
  { name: 'children', path: '/children', as: 'list' },
  { name: 'tree', path: '/tree', as: 'list' },
  { name: 'users', path: '/users', as: 'records' },
  { name: 'users, last first', path: '/users', query: { descending: 'true' }, as: 'list' },
  { name: 'admins', path: '/users', query: { filter_priv_level: 'admin' }, as: 'list' },
  { name: 'devices', path: '/devices', as: 'records' },
  { name: 'phones', path: '/devices', query: { filter_device_type: 'sip_device' }, as: 'list' },
  { name: 'callflows', path: '/callflows', as: 'records' },
  { name: 'groups', path: '/groups', as: 'records' },
  { name: 'numbers', path: '/phone_numbers', as: 'records' },
  { name: 'service plans', path: '/service_plans', as: 'list' },
  { name: 'limits', path: '/limits', as: 'record' },
  { name: 'access list', path: '/access_lists', as: 'record' },
  { name: 'whitelabel', path: '/whitelabel', as: 'record' },
  { name: 'balance', path: '/ledgers/total', as: 'record' },
  { name: 'ledgers', path: '/ledgers', as: 'record', isTimed: true },
  { name: 'transactions', path: '/transactions', as: 'list', isTimed: true },
  { name: 'call records', path: '/cdrs', as: 'list', isTimed: true },
  { name: 'interactions', path: '/cdrs/interaction', as: 'list', isTimed: true },
  { name: 'alerts', path: '/alerts', as: 'list' },
  { name: 'login security', path: '/security', as: 'record' },
]

/** Keys that are not compared, with the reason. */
export const disregarded: readonly { keys: RegExp; why: string }[] = [
  { keys: /^(?:_|pvt_)/, why: 'private and read-only marks are each system’s own' },
  { keys: /^kazoo_import$/, why: 'values that the import has preserved' },
  { keys: /^(?:ui_metadata)$/, why: 'the last author of a record, as a console shows it' },
]

const isDisregarded = (path: string) => {
  const [top = ''] = path.split('.', 1)
  return disregarded.some(({ keys }) => keys.test(top))
}

/** A value that only this system has is not a difference: clients ignore unknown fields. */
export const differencesOfRecords = (there: Json, here: Json): Difference[] =>
  differencesBetween(there, here).filter(({ path, from }) => from !== undefined && !isDisregarded(path))

export const idOf = (row: unknown): string => {
  if (!isObject(row)) return JSON.stringify(row)
  const { id, call_id: callId, number } = row
  return String(id ?? callId ?? number ?? JSON.stringify(row))
}

/** Ids that only one side has, and the first id that is at another position here. */
export const compareOrder = (there: readonly string[], here: readonly string[]) => {
  const [idsThere, idsHere] = [new Set(there), new Set(here)]
  const shared = here.filter((id) => idsThere.has(id))
  return {
    missing: there.filter((id) => !idsHere.has(id)),
    extra: here.filter((id) => !idsThere.has(id)),
    outOfOrder: there.filter((id) => idsHere.has(id)).find((id, index) => shared[index] !== id),
  }
}

export const differencesOfLists = (
  place: ComparedPlace,
  there: readonly unknown[],
  here: readonly unknown[],
): ReportedDifference[] => {
  const rowsHere = new Map(here.map((row) => [idOf(row), row]))
  const { missing, extra, outOfOrder } = compareOrder(there.map(idOf), [...rowsHere.keys()])
  return [
    ...missing.map((id) => ({ ...place, id, what: 'missing' })),
    ...extra.map((id) => ({ ...place, id, what: 'extra' })),
    ...(outOfOrder === undefined ? [] : [{ ...place, id: outOfOrder, what: 'order' }]),
    ...there.flatMap((row) => {
      const id = idOf(row)
      const other = rowsHere.get(id)
      if (!isObject(row) || !isObject(other)) return []
      return reportedAt({ ...place, id }, foundIn(differencesOfRecords(row, other)))
    }),
  ]
}

/** Selects a repeatable sample. */
export const sampleOf = (below: readonly string[], { sample, seed }: { sample: number; seed: string }) => {
  const places = new Map(below.map((id) => [id, hash('sha256', `${seed}/${id}`, 'hex')]))
  return below
    .toSorted((one, other) => ((places.get(one) ?? '') < (places.get(other) ?? '') ? -1 : 1))
    .slice(0, sample)
}

export interface Tally {
  questions: { name: string; asked: number; different: number }[]
  differences: ReportedDifference[]
  /** Differences beyond `maxReported`. */
  untold: number
}

// More differences are only counted.
const maxReported = 10_000

/** The entry of a name, which is added if there is none. */
const entryNamed = <Entry extends { name: string }>(entries: Entry[], empty: Entry): Entry => {
  const known = entries.find(({ name }) => name === empty.name)
  if (!known) entries.push(empty)
  return known ?? empty
}

export const createTally = (names: readonly string[] = []) => {
  const questions = names.map((name) => ({ name, asked: 0, different: 0 }))
  const tally: Tally = { questions, differences: [], untold: 0 }
  /** Counts and sums of both sides. */
  const sums: { name: string; there: number; here: number }[] = []
  return {
    tally,
    sums,

    add(place: ComparedPlace, asked: number, found: readonly FoundDifference[]) {
      const question = entryNamed(questions, { name: place.question, asked: 0, different: 0 })
      question.asked += asked
      const reported = reportedAt(place, found)
      question.different += new Set(reported.map(({ id = '' }) => id)).size
      const shown = reported.slice(0, Math.max(0, maxReported - tally.differences.length))
      tally.differences.push(...shown)
      tally.untold += found.length - shown.length
    },

    sum(name: string, there: number, here: number) {
      const both = entryNamed(sums, { name, there: 0, here: 0 })
      both.there += there
      both.here += here
    },
  }
}
