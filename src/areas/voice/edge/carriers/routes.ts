import { superduper } from '../../../../auth/policies.ts'
import { lasting } from '../../../../http/answer/answers.ts'
import { get, type Route } from '../../../../http/route.ts'
import type { CarrierDecisions } from './operations.ts'
import { carrierQuestionIn } from './rules.ts'
import { CarrierAnswer } from './schema.ts'

export const edgeCarrierRoutes = (carriers: CarrierDecisions): Route[] => [
  get('/v2/edge/carrier', {
    summary: 'Tell an edge proxy whether calls from an address may come in',
    allow: superduper,
    price: { is: 'free' },
    query: {
      address: 'Required: where the call comes from',
      port: 'From which port, for carriers that call from one alone',
      number: 'Who is called: carriers of the account with this number, and of those above, count as well',
    },
    answers: CarrierAnswer,
    run: async ({ query }) => {
      const data = await carriers.decide(carrierQuestionIn(query))
      return lasting(data, data.max_age_s)
    },
  }),
]
