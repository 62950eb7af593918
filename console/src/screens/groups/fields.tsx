import { isObject, type JsonObject } from '../../lib/json.ts'
import { schemaAt, valuesIn } from '../../lib/schemas.ts'
import type { FieldGroup, OwnField } from '../../parts/fields.tsx'
import { type Member, MembersInput } from '../../parts/members-input.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'groups.basics', fields: ['name'] },
  { title: 'groups.members', fields: ['endpoints'], isWide: true },
]

const membersOf = (endpoints: unknown): Member[] =>
  Object.entries(isObject(endpoints) ? endpoints : {}).flatMap(([id, endpoint]) => {
    if (!isObject(endpoint)) return []
    const { type, ...settings } = endpoint
    return [{ id, type: String(type), settings }]
  })

const endpointsOf = (members: readonly Member[]): JsonObject =>
  Object.fromEntries(members.map(({ id, type, settings }) => [id, { type, ...settings }]))

const Members: OwnField = ({ form, path, schema }) => {
  const { value, onChange } = form.getInputProps(path)
  return (
    <MembersInput
      members={membersOf(value)}
      onChange={(members) => onChange(endpointsOf(members))}
      schema={valuesIn(schemaAt(schema, path) ?? {})}
      problemOf={(id) => {
        const problem = form.errors[`${path}.${id}`]
        return typeof problem === 'string' ? problem : undefined
      }}
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = { endpoints: Members }
