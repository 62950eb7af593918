import { accountMember } from '../../../../auth/policies.ts'
import { get, type Route } from '../../../../http/route.ts'
import { Classification, Classifiers } from '../schema.ts'
import type { NumberPlanning } from './operations.ts'

const classifiers = '/v2/accounts/{account_id}/phone_numbers/classifiers'

export const numberPlanningRoutes = (planning: NumberPlanning): Route[] => [
  get(classifiers, {
    summary: 'List the kinds of numbers',
    allow: accountMember,
    answers: Classifiers,
    run: () => planning.named(),
  }),
  get(`${classifiers}/{number}`, {
    summary: 'Tell the kind of a number',
    allow: accountMember,
    answers: Classification,
    run: ({ path }) => planning.classify(path.number),
  }),
]
