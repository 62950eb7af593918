import { Type } from 'typebox'
import { readableSecret } from '../../lib/secrets.ts'
import { flag, section } from '../../settings/keys.ts'

const callRecords = section({
  maximum_range: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Seconds that a list spans at most; absent: as crossbar says',
    }),
  ),
  should_filter_empty_strings: flag(false, 'Rows leave out what is empty'),
})

const cdr = section({
  ignore_apps: Type.Array(Type.String(), {
    default: ['milliwatt'],
    description: 'Legs that these applications took are not stored',
  }),
  ignore_loopback_bowout: flag(true, 'Loopback legs that took themselves out of the call are not stored'),
  retention_months: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1200,
      description: 'Whole months that are kept beside the current one; absent: all',
    }),
  ),
})

const ingest = section({
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

export const cdrSettings = { 'crossbar.cdrs': callRecords, cdr, ingest }

type Owned = typeof cdrSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
