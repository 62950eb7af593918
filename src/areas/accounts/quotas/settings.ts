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
  records: countSetting('records', 'Maximum records of each kind of an account'),
  records_of_kind: counts('Maximum records by kind, such as device, user, alert, number, task'),
  sub_accounts: countSetting('accounts', 'Maximum sub-accounts, at all levels'),
  file_bytes: bytes('Maximum total of logos, icons, texts and photos'),
  task_input_bytes: bytes('Maximum total of the task inputs of an account'),
}

const quotas = section('Quotas of accounts; the server refuses a request that exceeds one', {
  record_bytes: wholeNumber(
    { minimum: 1000, maximum: 16_000_000, default: 1_000_000, unit: 'bytes' },
    'Maximum JSON text of a record, for every caller',
  ),
  record_values: wholeNumber(
    { minimum: 100, maximum: 1_000_000, default: 20_000, unit: 'values' },
    'Maximum values of a record, for every caller; objects and arrays in others count twice',
  ),
  records: { ...keys.records, default: 100_000 },
  records_of_kind: { ...keys.records_of_kind, default: { webhook: 100, resource: 200, connectivity: 200 } },
  sub_accounts: { ...keys.sub_accounts, default: 1_000_000 },
  file_bytes: { ...keys.file_bytes, default: 1_000_000_000 },
  task_input_bytes: { ...keys.task_input_bytes, default: 20_000_000_000 },
  accounts: Type.Record(
    Type.String({ maxLength: 32 }),
    Type.Partial(Type.Object(keys), { additionalProperties: true }),
    { default: {}, description: 'Quotas by account ID' },
  ),
})

export const quotaSettings = settingsDocument('quotas', quotas)
