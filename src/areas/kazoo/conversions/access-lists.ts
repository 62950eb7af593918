import { accessListProblems } from '../../../lib/access-list.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { finding } from './findings.ts'

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 256)

const isCidr = (value: unknown): value is string =>
  typeof value === 'string' && Object.keys(accessListProblems({ cidrs: [value] })).length === 0

const isPattern = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ user_agent: value })).length === 0

/** An account's or device's document without the subnets and patterns of its access list that are none: nobody ever looked. */
export const accessListsIn = (
  document: KazooDocument,
  doc: Json,
): { doc: Json; findings: readonly Finding[] } => {
  const { access_lists: lists } = doc
  if (!isObject(lists)) return { doc, findings: [] }
  const { cidrs, user_agent: pattern } = lists
  const all: readonly unknown[] = Array.isArray(cidrs) ? cidrs : []
  const bad = all.filter((value) => !isCidr(value))
  const isBadPattern = pattern !== undefined && !isPattern(pattern)
  const { user_agent: _, ...others } = lists
  return {
    doc: {
      ...doc,
      access_lists: {
        ...(isBadPattern ? others : lists),
        ...(Array.isArray(cidrs) ? { cidrs: all.filter(isCidr) } : {}),
      },
    },
    findings: [
      ...bad.map((value) =>
        finding(document, 'needs_hand', 'cidr_invalid', { field: 'access_lists.cidrs', old: shown(value) }),
      ),
      ...(isBadPattern
        ? [
            finding(document, 'needs_hand', 'pattern_invalid', {
              field: 'access_lists.user_agent',
              old: shown(pattern),
            }),
          ]
        : []),
    ],
  }
}
