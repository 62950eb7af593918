import { anyText, gregorian, integer, must, number, open } from '../../../../lib/schema.ts'

export const CallStat = open(
  {
    start: must(gregorian('When the interval begins')),
    calls: must(integer({ minimum: 0, description: 'Legs' })),
    answered: must(integer({ minimum: 0, description: 'Legs with billing seconds' })),
    answer_seizure_ratio: must(number({ minimum: 0, maximum: 1, description: 'answered / calls' })),
    average_call_duration: must(
      number({ minimum: 0, description: 'Billing seconds of an answered call on average' }),
    ),
    duration_seconds: must(integer({ minimum: 0 })),
    billing_seconds: must(integer({ minimum: 0 })),
    cost: must(integer({ description: 'Units, 10,000 to one' })),
    group: anyText({
      description: 'With group_by: what these calls have in common; empty when they name none',
    }),
  },
  { title: 'Call statistics of an interval' },
)
