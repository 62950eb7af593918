/**
 * What subscribers hear of in words of its own: of a change in place of `<kind>.<action>`, or beside all changes.
 * `docs/reference/events.md` says what each carries.
 */
export const happeningTypes = [
  'alert.raised',
  'balance.low',
  'call.credit_used',
  'call.emergency',
  'cdr.created',
  'charge.accepted',
  'charge.refused',
  'domain.failed',
  'invoice.issued',
  'invoice.overdue',
  'invoice.paid',
  'ledger.credited',
  'ledger.debited',
  'limit.reached',
  'number.bought',
  'number.ported',
  'number.released',
  'number.state_changed',
  'sign_in.new_address',
  'sign_in.refused',
  'sip.refused',
  'task.failed',
  'task.finished',
  'webhook.disabled',
  'webhook.replayed',
] as const

export type EventType = (typeof happeningTypes)[number]
