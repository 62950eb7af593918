import { accessListProblems } from '../../src/lib/access-list.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { createRemoval } from '../../src/lib/removal.ts'
import { rejectedOf, withRejected } from '../documents/fields.ts'
import type { Notes } from './findings.ts'

const field = 'access_lists'

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 256)

const isCidr = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ cidrs: [value] })).length === 0

const isPattern = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ user_agent: value })).length === 0

/** An account's or device's document without invalid subnets and patterns in its access list. Kazoo accepts any text there. */
export const withAccessLists = (doc: Json, { needsHand }: Notes): Json => {
  const lists = doc[field]
  if (!isObject(lists)) return doc
  const { cidrs, user_agent: pattern } = lists
  const bad = Array.isArray(cidrs) ? [...cidrs.keys()].filter((index) => !isCidr(cidrs[index])) : []
  const { rest, removed, remove } = createRemoval(doc)
  remove([
    ...bad.map((index) => [field, 'cidrs', String(index)]),
    ...(pattern === undefined || isPattern(pattern) ? [] : [[field, 'user_agent']]),
  ])
  for (const { place, value } of removed.toSorted((one, other) =>
    pathOf(one.place) < pathOf(other.place) ? -1 : 1,
  )) {
    const key = place[1] ?? ''
    const code = key === 'cidrs' ? 'cidr_invalid' : 'pattern_invalid'
    needsHand(code, { field: `${field}.${key}`, old: shown(value) })
  }
  return withRejected(rest, rejectedOf(removed))
}
