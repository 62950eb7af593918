import type { Static } from 'typebox'
import { anyObject, anyText, integer, list, must, open } from '../../../../lib/schema.ts'

const count = (description: string) => must(integer({ minimum: 0, description }))

/** Each record is validated separately, so that an invalid one does not stop the others. */
export const CdrRecords = list(anyObject(), { title: 'Call detail records', description: 'One record a leg' })

export const IntakeReport = open(
  {
    accepted: count('Records that are stored now'),
    duplicates: count('Records that were stored before, by their id'),
    ignored: count(
      'Records that the settings of cdr keep out: test applications, loopback legs that bowed out',
    ),
    rejected: must(
      list(
        open({
          line: must(integer({ description: 'Which record, counted from 1' })),
          reason: must(anyText()),
        }),
        { description: 'The first 1,000 records that were refused, and why' },
      ),
    ),
    rejected_total: count('How many were refused'),
  },
  { title: 'What became of call detail records' },
)
export type IntakeReport = Static<typeof IntakeReport>
