import { accessListProblems } from '../../src/lib/access-list.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { createRemoval } from '../../src/lib/removal.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { rejectedOf, withRejected } from '../documents/rejected.ts'
import { finding } from './findings.ts'

const field = 'access_lists'

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 256)

const isCidr = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ cidrs: [value] })).length === 0

const isPattern = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ user_agent: value })).length === 0

/** An account's or device's document without invalid subnets and patterns in its access list. Kazoo accepts any text there. */
export const accessListsIn = (
  document: KazooDocument,
  doc: Json,
): { doc: Json; findings: readonly Finding[] } => {
  const lists = doc[field]
  if (!isObject(lists)) return { doc, findings: [] }
  const { cidrs, user_agent: pattern } = lists
  const bad = Array.isArray(cidrs) ? [...cidrs.keys()].filter((index) => !isCidr(cidrs[index])) : []
  const { rest, removed, remove } = createRemoval(doc)
  remove([
    ...bad.map((index) => [field, 'cidrs', String(index)]),
    ...(pattern === undefined || isPattern(pattern) ? [] : [[field, 'user_agent']]),
  ])
  return {
    doc: withRejected(rest, rejectedOf(removed)),
    findings: removed
      .toSorted((one, other) => (pathOf(one.place) < pathOf(other.place) ? -1 : 1))
      .map(({ place: [, key = ''], value }) =>
        finding(document, 'needs_hand', key === 'cidrs' ? 'cidr_invalid' : 'pattern_invalid', {
          field: `${field}.${key}`,
          old: shown(value),
        }),
      ),
  }
}
