import type { FieldGroup, OwnField } from '../../parts/fields.tsx'
import { recordSelect } from '../../parts/record-select.tsx'
import { FlowField } from './flow-field.tsx'
import { NumbersField } from './numbers-field.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'callflows.basics', fields: ['name', 'numbers'] },
  { title: 'callflows.steps', fields: ['flow'], isWide: true },
  { title: 'callflows.more', fields: ['patterns', 'owner_id', 'group_id'] },
]

export const own: Readonly<Record<string, OwnField>> = {
  owner_id: recordSelect('user'),
  group_id: recordSelect('group'),
  numbers: NumbersField,
  flow: FlowField,
}
