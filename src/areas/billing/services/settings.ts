import { Type } from 'typebox'
import { flag, section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const priority = (fallback: number, description: string) =>
  wholeNumber({ default: fallback, unit: 'rank' }, description)

const servicesSection = section('Plans, charges and payment status', {
  enforce_good_standing: flag(
    false,
    'Refuse charges of accounts that are not in good standing, and of their sub-accounts',
  ),
  master_account_bookkeeper: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Type of the bookkeeper of accounts whose reseller is the master account',
    }),
  ),
  merge_strategy_priority: Type.Object(
    {
      simple: priority(10, 'Priority of plans whose merge.strategy is simple'),
      recursive: priority(25, 'Priority of plans whose merge.strategy is recursive'),
      cumulative: priority(50, 'Priority of plans whose merge.strategy is cumulative'),
    },
    {
      default: {},
      description:
        'If plans of one account have different merge strategies, the larger priority overrides the smaller',
    },
  ),
  own_topup_without_gateway: flag(
    false,
    'Customers without a charging billing provider may top up themselves: the credit is not paid',
  ),
  should_save_master_audit_logs: flag(false, 'Also store audit entries of the master account'),
  currency: Type.String({
    default: 'USD',
    pattern: '^[A-Z]{3}$',
    description: 'Currency of all amounts (ISO 4217). Amounts are not converted when it changes',
  }),
  sync_buffer_period: wholeNumber(
    { minimum: 0, maximum: 86_400, default: 600, unit: 'seconds' },
    'Time in which changes of an invoice are collected before the server sends them to the billing provider',
  ),
})

export const servicesSettings = settingsDocument('services', servicesSection)
