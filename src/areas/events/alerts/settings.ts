import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const alerts = section('Making alerts', {
  enabled: flag(
    true,
    'Alerts can be made, and the server makes some by itself; else only older ones are shown',
  ),
})

const alertChecks = section('Which alerts are shown', {
  check_port_requests: flag(true, 'Show alerts about numbers that are ported'),
  check_port_action_required: flag(true, 'Of these, show those that ask for something'),
  check_financials: flag(true, 'Show alerts about the money of accounts that are sold something'),
  check_low_balance: flag(true, 'Of these, show that the balance is low'),
  check_payment_token: flag(true, 'Of these, show that a payment method is missing or expires'),
  check_system_alerts: flag(true, 'Show alerts that somebody has made'),
})

export const alertSettings = settingsDocument('alerts', alerts)
export const alertCheckSettings = settingsDocument('crossbar.alerts', alertChecks)
