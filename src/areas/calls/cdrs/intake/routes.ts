import { superduper } from '../../../../auth/policies.ts'
import { type Call, put, type Route } from '../../../../http/route.ts'
import { invalid } from '../../../../lib/failure.ts'
import { dropNulls } from '../../../../lib/json-merge.ts'
import { callArchiveUnreachable } from '../failures.ts'
import { entriesOf } from './ndjson.ts'
import type { Entry, Intake } from './operations.ts'
import { CdrRecords, IntakeReport } from './schema.ts'

const ndjson = 'application/x-ndjson'

const notAList = {
  data: { type: { message: 'Value did not match type(s): array', target: 'array' } },
}

async function* listed(sent: unknown): AsyncGenerator<Entry[]> {
  if (sent === undefined) throw invalid({ data: { required: { message: 'The body is empty' } } })
  if (!Array.isArray(sent)) throw invalid(notAList)
  yield sent.map((record, index) => ({ line: index + 1, record: dropNulls(record) }))
}

const recordsOf = ({ stream, sent }: Pick<Call, 'stream' | 'sent'>) =>
  stream ? entriesOf(stream.chunks) : listed(sent)

export const cdrIntakeRoutes = (intake: Intake): Route[] => [
  put('/v2/cdrs', {
    summary:
      'Store call detail records, one JSON object a line or a list. What is there already stays as it is',
    allow: superduper,
    body: CdrRecords,
    judgesItself: true,
    takesMany: true,
    streams: [ndjson],
    answers: IntakeReport,
    fails: [callArchiveUnreachable],
    run: (call) => intake.take(call.author, recordsOf(call)),
  }),
]
