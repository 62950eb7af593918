import { Type } from 'typebox'
import { flag, section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const priority = (fallback: number, description: string) =>
  wholeNumber({ default: fallback, unit: 'rank' }, description)

const servicesSection = section('Plans, charges and standing', {
  enforce_good_standing: flag(
    false,
    'Refuse charges of accounts that are not in good standing, and of accounts below them',
  ),
  master_account_bookkeeper: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Type of the bookkeeper of accounts whose reseller is the master account',
    }),
  ),
  merge_strategy_priority: Type.Object(
    {
      simple: priority(10, 'Of plans whose merge.strategy is simple'),
      recursive: priority(25, 'Of plans whose merge.strategy is recursive'),
      cumulative: priority(50, 'Of plans whose merge.strategy is cumulative'),
    },
    {
      default: {},
      description:
        'Of plans of one account that are merged in different ways, the larger one is laid over the smaller',
    },
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
  sync_buffer_period: wholeNumber(
    { minimum: 0, maximum: 86_400, default: 600, unit: 'seconds' },
    'Seconds in which changes of an invoice are gathered before its bookkeeper is told',
  ),
})

export const servicesSettings = settingsDocument('services', servicesSection)
