import { Type } from 'typebox'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const countSetting = (what: string, description: string) =>
  wholeNumber({ minimum: 0, unit: what }, description)
const bytes = (description: string) => wholeNumber({ minimum: 0, unit: 'bytes' }, description)

const counts = (description: string) =>
  Type.Record(Type.String({ maxLength: 64 }), countSetting('records', 'Records of this kind'), {
    description,
  })

const keys = {
  records: countSetting('records', 'Records of one kind that an account may have'),
  records_of_kind: counts('The same for one kind: device, user, alert, number, task and the like'),
  sub_accounts: countSetting('accounts', 'Accounts below one, at whatever depth'),
  file_bytes: bytes('Total of logos, icons, texts and photos'),
  task_input_bytes: bytes('Total of the inputs of all tasks of an account'),
}

const quotas = section('Quotas of accounts; a request that exceeds one is refused', {
  record_bytes: wholeNumber(
    { minimum: 1000, maximum: 16_000_000, default: 1_000_000, unit: 'bytes' },
    'JSON text of any record, for every caller',
  ),
  record_values: wholeNumber(
    { minimum: 100, maximum: 1_000_000, default: 20_000, unit: 'values' },
    'Values of any record, for every caller; objects and arrays within others count twice',
  ),
  records: { ...keys.records, default: 100_000 },
  records_of_kind: { ...keys.records_of_kind, default: { webhook: 100, resource: 200, connectivity: 200 } },
  sub_accounts: { ...keys.sub_accounts, default: 1_000_000 },
  file_bytes: { ...keys.file_bytes, default: 1_000_000_000 },
  task_input_bytes: { ...keys.task_input_bytes, default: 20_000_000_000 },
  accounts: Type.Record(
    Type.String({ maxLength: 32 }),
    Type.Partial(Type.Object(keys), { additionalProperties: true }),
    { default: {}, description: 'Account ID -> quotas of this account' },
  ),
})

export const quotaSettings = settingsDocument('quotas', quotas)
