import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const alerts = section('Making alerts', {
  enabled: flag(true, 'Alerts can be created, also by the server; if off, only older ones are shown'),
})

const alertChecks = section('Which alerts are shown', {
  check_port_requests: flag(true, 'Show alerts about numbers that are ported'),
  check_port_action_required: flag(true, 'Show alerts about required actions'),
  check_financials: flag(true, 'Show alerts about the money of accounts that are sold something'),
  check_low_balance: flag(true, 'Show alerts about a low balance'),
  check_payment_token: flag(true, 'Show alerts about missing or expiring payment methods'),
  check_system_alerts: flag(true, 'Show alerts of operators'),
})

export const alertSettings = settingsDocument('alerts', alerts)
export const alertCheckSettings = settingsDocument('crossbar.alerts', alertChecks)
