import { hash } from 'node:crypto'
import { type Difference, differencesBetween } from '../../src/lib/differences.ts'
import { isObject, type Json } from '../../src/lib/json.ts'

/** Something that the two systems say differently, on one line. */
export interface Told {
  account_id: string
  question: string
  id?: string
  /** `status`, `missing`, `extra`, `order`, or the path of a field. */
  what: string
  there?: unknown
  here?: unknown
  /** What the import, or the times of both, say of it. */
  why?: string
}

/** Something that is asked of two systems about an account. */
export interface Question {
  /** As reports call it. */
  name: string
  /** Behind `/v2/accounts/{id}`. */
  path: string
  query?: Readonly<Record<string, string | number>>
  /** One record; a list whose order counts; or a list each of whose records is read as well. */
  as: 'record' | 'list' | 'records'
  /** It is asked for a span of time: `created_from` and `created_to` are added. */
  isTimed?: true
}

/** What clients of the family ask about an account, lists with the filters that they use. */
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

/** What is not held against each other, and why: it is told once, at the end of a report. */
export const disregarded: readonly { keys: RegExp; why: string }[] = [
  { keys: /^(?:_|pvt_)/, why: 'private and read-only marks are each system’s own' },
  { keys: /^kazoo_import$/, why: 'what the import has set aside' },
  { keys: /^(?:ui_metadata)$/, why: 'who wrote a record last, in the words of a console' },
]

const isDisregarded = (path: string) => {
  const [top = ''] = path.split('.', 1)
  return disregarded.some(({ keys }) => keys.test(top))
}

/**
 * What a record says differently here. What is here alone is no difference: clients read what they know, and a system
 * may tell more.
 */
export const differencesOfRecords = (there: Json, here: Json): Difference[] =>
  differencesBetween(there, here).filter(({ path, from }) => from !== undefined && !isDisregarded(path))

/** What is different about two lists. */
interface ListDifferences {
  /** Ids that are there and not here, and the other way round. */
  missing: readonly string[]
  extra: readonly string[]
  /** The first place at which rows of both stand in another order: the id there. */
  outOfOrder: string | undefined
  rows: readonly { id: string; differences: readonly Difference[] }[]
}

/** What rows are told apart by. */
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

/** Of the accounts below, so many that another run chooses again, in the order in which they are looked at. */
export const sampleOf = (below: readonly string[], { sample, seed }: { sample: number; seed: string }) =>
  below
    .map((id) => ({ id, place: hash('sha256', `${seed}/${id}`, 'hex') }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, sample)
    .map(({ id }) => id)

/** What was asked of two systems, and what they say differently. */
export interface Tally {
  questions: { name: string; asked: number; different: number }[]
  differences: Told[]
  /** Beside those that are told. */
  untold: number
}

// Whoever has more of them looks at the first ones.
const maxTold = 10_000

/** Counts answers that are held against each other; of what differs it keeps the first. */
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

/** Something that is counted or summed on both sides. */
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
