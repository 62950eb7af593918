import { Type } from 'typebox'
import { flag, section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const callRecords = section('Lists of call records', {
  maximum_range: Type.Optional(
    wholeNumber(
      { minimum: 1, unit: 'seconds' },
      'Maximum range of a list of call records; absent: maximum_range of crossbar',
    ),
  ),
  should_filter_empty_strings: flag(false, 'Omit empty values from rows'),
})

const cdr = section('Stored call records and their retention', {
  ignore_apps: Type.Array(Type.String(), {
    default: ['milliwatt'],
    description: 'Legs that these applications answered are not stored',
  }),
  ignore_loopback_bowout: flag(true, 'Loopback legs that left the call by a bowout are not stored'),
  departed_account_days: wholeNumber(
    { minimum: 1, maximum: 36_500, default: 90 },
    'Retention of the call records and call statistics of a deleted account',
  ),
  archive_after_months: Type.Optional(
    wholeNumber(
      { minimum: 1, maximum: 1200 },
      'Whole months in the store, in addition to the current one; older ones move to the archive; absent: all stay',
    ),
  ),
  retention_months: Type.Optional(
    wholeNumber(
      { minimum: 1, maximum: 1200 },
      'Whole months of retention, in addition to the current one; absent: no limit',
    ),
  ),
})

export const callListSettings = settingsDocument('crossbar.cdrs', callRecords)
export const callRecordSettings = settingsDocument('cdr', cdr)
