import { Type } from 'typebox'
import { readableSecret } from '../../../lib/secrets.ts'
import { section, settingsDocument } from '../../../settings/keys.ts'

const ingest = section('Where switches post call records', {
  freeswitch_secret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 200,
      ...readableSecret,
      pattern: '^[A-Za-z0-9._~-]*$',
      description:
        'The last part of the address that FreeSWITCH posts call records to; absent: none is taken',
    }),
  ),
})

export const ingestSettings = settingsDocument('ingest', ingest)
