import type { ImportedRecord } from '../../src/areas/adoption.ts'
import type { Validate } from '../../src/areas/area.ts'
import { validPartOf } from '../../src/areas/valid-part.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf, placeOf } from '../../src/lib/property-path.ts'
import { mapSecretsAt } from '../../src/lib/secrets.ts'
import type { Draft, Finding, KazooDocument } from '../documents/document.ts'
import { rejectedIn, rejectedOf, withRejected } from '../documents/fields.ts'

interface QuarantineDeps {
  adoptions: Readonly<Record<string, Pick<ImportedRecord, 'schema' | 'rules' | 'repair' | 'leavesOut'>>>
  validate: Validate
}

/** Records are stored with the values of keys of this name sealed. Documents of an export have the key already. */
const asSecret = (secret: unknown) =>
  isObject(secret) && Object.keys(secret).join() === 'secret' ? secret : { secret }

const withSecrets = (schema: object, rejected: Json): Json =>
  Object.fromEntries(
    Object.entries(rejected).map(([path, value]) => [
      path,
      mapSecretsAt(schema, placeOf(path), value, asSecret),
    ]),
  )

/** Stores values that break the schema under `kazoo_import.rejected` of the record, where a person can look at them. */
export const quarantineInvalidFields =
  ({ adoptions, validate }: QuarantineDeps) =>
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
    const { schema, rules, repair, leavesOut } = adoptions[draft.as] ?? {}
    if (!schema) return { doc: draft.doc, findings: ((await leavesOut?.(draft)) ?? []).map(setAside) }
    const { doc, removed, unsolved } = await validPartOf(validate, schema, draft.doc, rules)
    const places = removed.map(({ place }) => place)
    const rejected = withSecrets(schema, { ...rejectedIn(doc), ...rejectedOf(removed) })
    return {
      doc: withRejected(repair?.(doc, places) ?? doc, rejected),
      findings: [...places.map(pathOf), ...unsolved].map(setAside),
    }
  }
