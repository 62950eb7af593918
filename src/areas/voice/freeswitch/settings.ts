import { Type } from 'typebox'
import { readableSecret } from '../../../lib/secrets.ts'
import { section, settingsDocument } from '../../../settings/keys.ts'

const ingest = section('Intake of call records from switches', {
  freeswitch_secret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 200,
      ...readableSecret,
      pattern: '^[A-Za-z0-9._~-]*$',
      description:
        'Last part of the URL to which FreeSWITCH posts call records; absent: the server refuses them',
    }),
  ),
})

export const ingestSettings = settingsDocument('ingest', ingest)
