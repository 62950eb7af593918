import { Type } from 'typebox'
import { flag, section } from '../../settings/keys.ts'

const services = section({
  enforce_good_standing: flag(false, 'Refuse charges of accounts that are not in good standing'),
  master_account_bookkeeper: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Type of the bookkeeper of accounts whose reseller is the master account',
    }),
  ),
  merge_strategy_priority: Type.Object(
    {
      simple: Type.Integer({ default: 10 }),
      recursive: Type.Integer({ default: 25 }),
      cumulative: Type.Integer({ default: 50 }),
    },
    { default: {}, description: 'Of plans merged in different ways, the larger one wins' },
  ),
  own_topup_without_gateway: flag(
    false,
    'Customers whose bookkeeper charges nobody may top themselves up: money that nobody has paid',
  ),
  should_save_master_audit_logs: flag(false, 'Keep audit entries of the master account too'),
  currency: Type.String({
    default: 'USD',
    pattern: '^[A-Z]{3}$',
    description: 'Of all money (ISO 4217). Amounts are not converted when it changes',
  }),
  sync_buffer_period: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 600,
    description: 'Seconds in which changes of an invoice are gathered before its bookkeeper is told',
  }),
})

export const servicesSettings = { services }

type Owned = typeof servicesSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
