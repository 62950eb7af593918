import { hash } from 'node:crypto'
import { type Difference, differencesBetween } from '../../src/lib/differences.ts'
import { isObject, type Json } from '../../src/lib/json.ts'

/** One difference between the systems. */
export interface Told {
  account_id: string
  question: string
  id?: string
  /** `status`, `missing`, `extra`, `order`, or the path of a field. */
  what: string
  there?: unknown
  here?: unknown
  /** The reason, if the import or the modification times give one. */
  why?: string
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
  { keys: /^kazoo_import$/, why: 'what the import has set aside' },
  { keys: /^(?:ui_metadata)$/, why: 'who wrote a record last, in the words of a console' },
]

const isDisregarded = (path: string) => {
  const [top = ''] = path.split('.', 1)
  return disregarded.some(({ keys }) => keys.test(top))
}

/** A value that only this system has is no difference: clients ignore unknown fields. */
export const differencesOfRecords = (there: Json, here: Json): Difference[] =>
  differencesBetween(there, here).filter(({ path, from }) => from !== undefined && !isDisregarded(path))

interface ListDifferences {
  /** Ids that are only there, and only here. */
  missing: readonly string[]
  extra: readonly string[]
  /** The id of the first row that is at another position here. */
  outOfOrder: string | undefined
  rows: readonly { id: string; differences: readonly Difference[] }[]
}

export const idOf = (row: unknown): string => {
  if (!isObject(row)) return JSON.stringify(row)
  const { id, call_id: callId, number } = row
  return String(id ?? callId ?? number ?? JSON.stringify(row))
}

export const differencesOfLists = (there: readonly unknown[], here: readonly unknown[]): ListDifferences => {
  const rowsHere = new Map(here.map((row) => [idOf(row), row]))
  const idsThere = there.map(idOf)
  const known = new Set(idsThere)
  const shared = idsThere.filter((id) => rowsHere.has(id))
  const sharedHere = [...rowsHere.keys()].filter((id) => known.has(id))
  return {
    missing: idsThere.filter((id) => !rowsHere.has(id)),
    extra: [...rowsHere.keys()].filter((id) => !known.has(id)),
    outOfOrder: shared.find((id, index) => sharedHere[index] !== id),
    rows: there.flatMap((row) => {
      const id = idOf(row)
      const other = rowsHere.get(id)
      if (!isObject(row) || !isObject(other)) return []
      const differences = differencesOfRecords(row, other)
      return differences.length > 0 ? [{ id, differences }] : []
    }),
  }
}

/** Selects a repeatable sample. */
export const sampleOf = (below: readonly string[], { sample, seed }: { sample: number; seed: string }) =>
  below
    .map((id) => ({ id, place: hash('sha256', `${seed}/${id}`, 'hex') }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, sample)
    .map(({ id }) => id)

export interface Tally {
  questions: { name: string; asked: number; different: number }[]
  differences: Told[]
  /** Differences beyond `maxTold`. */
  untold: number
}

// More differences are only counted.
const maxTold = 10_000

export const createTally = (names: readonly string[] = []) => {
  const tally: Tally = {
    questions: names.map((name) => ({ name, asked: 0, different: 0 })),
    differences: [],
    untold: 0,
  }
  return {
    tally,
    add(name: string, asked: number, told: readonly Told[]) {
      const known = tally.questions.find((one) => one.name === name)
      const question = known ?? { name, asked: 0, different: 0 }
      if (!known) tally.questions.push(question)
      question.asked += asked
      question.different += new Set(told.map(({ id = '' }) => id)).size
      const room = Math.max(0, maxTold - tally.differences.length)
      tally.differences.push(...told.slice(0, room))
      tally.untold += Math.max(0, told.length - room)
    },
  }
}

export interface BothSums {
  name: string
  there: number
  here: number
}

export const createSums = () => {
  const sums = new Map<string, BothSums>()
  return {
    add(name: string, there: number, here: number) {
      const known = sums.get(name) ?? { name, there: 0, here: 0 }
      sums.set(name, { name, there: known.there + there, here: known.here + here })
    },
    all: () => [...sums.values()],
  }
}
