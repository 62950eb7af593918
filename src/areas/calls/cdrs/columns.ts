/**
 * The columns of a leg: `path` names the field of the document, `sql` the column. NULL = the field is absent.
 *
 * - `rest` is the JSON text of all other fields, NULL if there are none.
 * - `id` is `YYYYMM-<call_id>` with the UTC month of `interaction_time`; the interaction id is
 *   `<interaction_time>-<interaction_key>`.
 * - `created` is `timestamp` (Gregorian seconds). Lists are ordered by (created, id). It differs from
 *   `interaction_time` by at most 27 days, so its legs are in the month before, the same month or the month after.
 * - `media_recordings` is JSON text: a list, or one text that lists show as a list.
 * - Derived: `loopback_leg` (`A`, `B` or empty if unknown; NULL = no loopback channel), `cost` and `reseller_cost`
 *   (units; 0 if not billed per minute), `csv_quoted` and `csv_guarded` (see `cellCareOf`).
 *
 * `store.cdrs.read(months, (from) => ...)` returns the text after FROM.
 */
export const cdrColumns = [
  { path: 'timestamp', sql: 'created', type: 'integer' },
  { path: 'interaction_time', sql: 'interaction_time', type: 'integer' },
  { path: 'interaction_key', sql: 'interaction_key', type: 'text' },
  { path: 'custom_channel_vars.owner_id', sql: 'owner_id', type: 'text' },
  { path: 'call_direction', sql: 'call_direction', type: 'text' },
  { path: 'duration_seconds', sql: 'duration_seconds', type: 'integer' },
  { path: 'billing_seconds', sql: 'billing_seconds', type: 'integer' },
  { path: 'ringing_seconds', sql: 'ringing_seconds', type: 'integer' },
  { path: 'channel_created_time', sql: 'channel_created_time', type: 'integer' },
  { path: 'caller_id_number', sql: 'caller_id_number', type: 'text' },
  { path: 'caller_id_name', sql: 'caller_id_name', type: 'text' },
  { path: 'callee_id_number', sql: 'callee_id_number', type: 'text' },
  { path: 'callee_id_name', sql: 'callee_id_name', type: 'text' },
  { path: 'hangup_cause', sql: 'hangup_cause', type: 'text' },
  { path: 'other_leg_call_id', sql: 'other_leg_call_id', type: 'text' },
  { path: 'from', sql: 'sip_from', type: 'text' },
  { path: 'to', sql: 'sip_to', type: 'text' },
  { path: 'from_uri', sql: 'from_uri', type: 'text' },
  { path: 'request', sql: 'sip_request', type: 'text' },
  { path: 'custom_channel_vars.authorizing_id', sql: 'authorizing_id', type: 'text' },
  { path: 'custom_channel_vars.resource_id', sql: 'resource_id', type: 'text' },
  { path: 'custom_channel_vars.account_billing', sql: 'account_billing', type: 'text' },
  { path: 'custom_channel_vars.reseller_billing', sql: 'reseller_billing', type: 'text' },
  { path: 'custom_channel_vars.rate', sql: 'rate', type: 'integer' },
  { path: 'custom_channel_vars.rate_name', sql: 'rate_name', type: 'text' },
  { path: 'custom_channel_vars.bridge_id', sql: 'bridge_id', type: 'text' },
  { path: 'recording_url', sql: 'recording_url', type: 'text' },
  { path: 'custom_channel_vars.media_recordings', sql: 'media_recordings', type: 'json' },
  { path: 'media_server', sql: 'media_server', type: 'text' },
  { path: 'custom_channel_vars.call_priority', sql: 'call_priority', type: 'text' },
] as const

type FieldColumn = (typeof cdrColumns)[number]

const variablesPrefix = 'custom_channel_vars.'

export const fieldColumns = cdrColumns.map((column) => {
  const inVariables = column.path.startsWith(variablesPrefix)
  return {
    ...column,
    name: inVariables ? column.path.slice(variablesPrefix.length) : column.path,
    inVariables,
  }
})
type SqlType<C extends FieldColumn> = C['type'] extends 'integer' ? number : string

export type CdrRow = {
  [C in FieldColumn as C['sql']]: SqlType<C> | null
} & {
  account_id: string
  id: string
  created: number
  interaction_time: number
  interaction_key: string
  loopback_leg: string | null
  cost: number
  reseller_cost: number
  csv_quoted: number
  csv_guarded: number
  rest: string | null
}

/** In the order in which rows are written. */
export const storedColumns = [
  'account_id',
  'id',
  ...cdrColumns.map(({ sql }) => sql),
  'loopback_leg',
  'cost',
  'reseller_cost',
  'csv_quoted',
  'csv_guarded',
  'rest',
] as const satisfies readonly (keyof CdrRow)[]

export const emptyRow = Object.fromEntries(storedColumns.map((name) => [name, null])) as unknown as CdrRow

/** The month of a leg as 202611: the first part of its id. */
export const monthOfId = (id: string) => Number(id.slice(0, 6))

export const callIdOf = (cdrId: string) => cdrId.slice(7)

export const interactionIdOf = ({
  interaction_time: time,
  interaction_key: key,
}: Pick<CdrRow, 'interaction_time' | 'interaction_key'>) => `${time}-${key}`

/** Start of the leg in Gregorian seconds; `timestamp` is its end. */
export const legStartOf = ({ created, duration_seconds }: Pick<CdrRow, 'created' | 'duration_seconds'>) =>
  created - (duration_seconds ?? 0)

// Fields about what a call costs others than the account. Only accounts above it see them.

const costKey =
  /^(?:base_cost|rate_cost|(?:internal|carrier|supplier|provider)_\w*(?:cost|rate|price|surcharge|billing)\w*|reseller_(?!id$)\w+)$/

export const tellsCost = (key: string) => costKey.test(key)

const perMinute = 'per_minute'

/** Whether only the reseller pays per minute: the account does not see the price. */
export const isPricedForReseller = ({
  account_billing,
  reseller_billing,
}: Pick<CdrRow, 'account_billing' | 'reseller_billing'>) =>
  reseller_billing === perMinute && account_billing !== perMinute

/** The same as SQL; true or false, never NULL. */
export const isPricedForResellerSql = `(COALESCE(reseller_billing, '') = '${perMinute}' AND COALESCE(account_billing, '') <> '${perMinute}')`

const priceKeys: ReadonlySet<string> = new Set([
  'rate',
  'rate_name',
  'rate_id',
  'rate_description',
  'ratedeck_id',
  'rate_increment',
  'rate_minimum',
  'rate_nocharge_time',
  'surcharge',
  'exact_rate',
  'exact_surcharge',
  'discount_percentage',
])

export const tellsPrice = (key: string) => priceKeys.has(key)
