import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const alerts = section('Whether new alerts are created', {
  enabled: flag(
    true,
    'Allow new alerts, from operators and the server; if off, only existing ones are shown',
  ),
})

const alertChecks = section('Kinds of alerts that are shown', {
  check_port_requests: flag(true, 'Show alerts about number porting'),
  check_port_action_required: flag(true, 'Show alerts about required actions'),
  check_financials: flag(true, 'Show alerts about the balance and payments of accounts with plans'),
  check_low_balance: flag(true, 'Show alerts about a low balance'),
  check_payment_token: flag(true, 'Show alerts about missing or expiring payment methods'),
  check_system_alerts: flag(true, 'Show alerts of operators'),
})

export const alertSettings = settingsDocument('alerts', alerts)
export const alertCheckSettings = settingsDocument('crossbar.alerts', alertChecks)
