import { Type } from 'typebox'
import { flag, section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const callRecords = section('Lists of call records', {
  maximum_range: Type.Optional(
    wholeNumber(
      { minimum: 1, unit: 'seconds' },
      'The longest range of a list of call records; absent: as crossbar says',
    ),
  ),
  should_filter_empty_strings: flag(false, 'Rows leave out what is empty'),
})

const cdr = section('Which call records are stored, and for how long', {
  ignore_apps: Type.Array(Type.String(), {
    default: ['milliwatt'],
    description: 'Legs that these applications took are not stored',
  }),
  ignore_loopback_bowout: flag(true, 'Loopback legs that took themselves out of the call are not stored'),
  departed_account_days: wholeNumber(
    { minimum: 1, maximum: 36_500, default: 90 },
    'Days that the call records and call statistics of a deleted account stay, then they go for good',
  ),
  archive_after_months: Type.Optional(
    wholeNumber(
      { minimum: 1, maximum: 1200 },
      'Whole months in the store besides the current one; older ones move to the archive; absent: all stay',
    ),
  ),
  retention_months: Type.Optional(
    wholeNumber(
      { minimum: 1, maximum: 1200 },
      'Whole months that are kept besides the current one; absent: all',
    ),
  ),
})

export const callListSettings = settingsDocument('crossbar.cdrs', callRecords)
export const callRecordSettings = settingsDocument('cdr', cdr)
