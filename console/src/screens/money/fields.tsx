import type { FieldGroup, OwnField } from '../../parts/fields.tsx'
import { PlanItems } from './plan-items.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'money.planBasics', fields: ['name', 'category', 'description'] },
  { title: 'money.prices', fields: ['plan'] },
  {
    title: 'money.planRest',
    fields: [
      'merge.strategy',
      'merge.priority',
      'bookkeeper.type',
      'bookkeeper.id',
      'bookkeeper.vendor_id',
      'ratedeck.id',
    ],
  },
]

export const own: Readonly<Record<string, OwnField>> = { plan: PlanItems }
