import { hasProblems } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import type { Adoption } from '../../adoption.ts'
import type { Validate } from '../../area.ts'
import type { Draft, Finding, KazooDocument } from '../documents/document.ts'

interface Tools {
  adoptions: Readonly<Record<string, Adoption>>
  validate: Validate
}

/** Keys that break the schema are set aside in the record, where they can be looked at and put right. */
export const createSettingAside =
  ({ adoptions, validate }: Tools) =>
  async (
    draft: Draft,
    { database, id }: Pick<KazooDocument, 'database' | 'id'>,
  ): Promise<{ doc: Json; findings: readonly Finding[] }> => {
    const setAside = (field: string): Finding => ({
      severity: 'repaired',
      code: 'set_aside',
      database,
      id,
      field,
    })
    const { schema, leavesOut } = adoptions[draft.as] ?? {}
    if (!schema) return { doc: draft.doc, findings: ((await leavesOut?.(draft)) ?? []).map(setAside) }
    const { value, sound, problems } = await validate(schema, draft.doc)
    if (!hasProblems(problems)) return { doc: isObject(value) ? value : draft.doc, findings: [] }
    const kept: Record<string, unknown> = { ...sound }
    const rejected = Object.fromEntries(
      Object.keys(problems).map((path) => [path, memberOf(draft.doc, ...path.split('.'))]),
    )
    const findings = Object.keys(problems).map(setAside)
    const before = memberOf(draft.doc, 'kazoo_import', 'rejected')
    const all = { ...(isObject(before) ? before : {}), ...rejected }
    return { doc: { ...kept, kazoo_import: { rejected: all } }, findings }
  }
