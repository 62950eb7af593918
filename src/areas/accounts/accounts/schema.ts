import type { Static } from 'typebox'
import { AccessList } from '../../../lib/access-list.ts'
import { AllowedProxies } from '../../../lib/allowed-proxies.ts'
import {
  AccountCallRecording,
  Addresses,
  callFields,
  musicOnHold,
  Voicemail,
} from '../../../lib/call-shapes.ts'
import { AccountRateLimits } from '../../../lib/packet-limits.ts'
import {
  anyObject,
  anyText,
  choice,
  closed,
  flag,
  gregorian,
  id,
  integer,
  list,
  multiline,
  must,
  number,
  open,
  text,
  timezone,
  uniqueList,
} from '../../../lib/schema.ts'

const Notifications = open({
  first_occurrence: open({
    sent_initial_call: flag({ default: false }),
    sent_initial_registration: flag({ default: false }),
  }),
  low_balance: open({
    enabled: flag(),
    threshold: number({ description: 'Balance below which a notice is sent' }),
    sent_low_balance: flag({ description: 'The notice has been sent' }),
    last_notification: gregorian('Last notice'),
  }),
  media_proxy: open({
    fail_alert_enabled: flag({ default: true }),
    last_notification: gregorian('Last notice'),
  }),
})

const fields = {
  name: must(
    text(1, 128, {
      description:
        'Unique by its letters, combining marks and digits of any script, ignoring case; needs a letter or digit',
    }),
  ),
  realm: text(4, 253, { pattern: '^[.\\w-]+$', description: 'SIP domain, unique; generated when missing' }),
  ...callFields,
  access_lists: AccessList,
  addresses: Addresses,
  allowed_proxy_ips: AllowedProxies,
  announcement: anyText({ ...multiline, description: 'Shown to the users of the account' }),
  available_apps: list(anyText(), {
    description: 'Names of the apps that sign-ins of the account return as apps',
  }),
  blacklists: uniqueList(anyText(), { description: 'IDs of blacklists that apply to every call' }),
  call_recording: AccountCallRecording,
  enabled: flag({ default: true, description: 'Only parent accounts may change it' }),
  language: anyText({ description: 'Such as en-us' }),
  lends_bookkeepers_to: uniqueList(id(), {
    maxItems: 1000,
    description: 'Sub-accounts whose service plans may use the billing providers of this account',
  }),
  music_on_hold: musicOnHold(2048),
  notifications: Notifications,
  org: anyText({ description: 'Full legal name' }),
  rate_limits: AccountRateLimits,
  preflow: closed({ always: anyText({ description: 'Callflow that runs before all others' }) }),
  timezone: timezone({ description: 'Name of the time zone database' }),
  topup: open({
    amount: number({ minimum: 0, description: 'Amount of a top-up' }),
    threshold: number({ minimum: 0, description: 'Balance below which the account is topped up' }),
  }),
  trial_expires: integer({
    minimum: 1,
    description:
      'Time after which no user can sign in (Gregorian seconds). Only resellers above and the operator can set it or remove it with null',
  }),
  voicemail: Voicemail,
  zones: anyObject(),
}

const served = { readOnly: true }

const readOnlyFields = {
  id: must(id(served)),
  billing_mode: choice(['limits_only', 'normal', 'manual'], served),
  created: integer({ ...served, description: 'Gregorian seconds' }),
  descendants_count: integer(served),
  is_reseller: flag(served),
  knm_allow_additions: flag({ ...served, description: 'Older name of wnm_allow_additions' }),
  modified: integer({ ...served, description: 'Gregorian seconds' }),
  notification_preference: anyText(served),
  reseller_id: anyText(served),
  superduper_admin: flag(served),
  is_trial_account: flag({ ...served, description: 'Whether trial_expires is set; absent: it is not' }),
  trial_time_left: integer({ ...served, description: 'Seconds until trial_expires; 0: it has passed' }),
  wnm_allow_additions: flag({ ...served, description: 'Whether numbers may be added and changed' }),
}

/** What a client writes. Read-only fields are not named here, so that an echoed record never fails. */
export const Account = open(fields, {
  title: 'Account',
  description:
    'A customer, a reseller or the operator; every other record belongs to one. Other fields are stored',
})
export type Account = Static<typeof Account>

/** What a client reads. */
export const AccountRecord = open({ ...readOnlyFields, ...fields }, { title: 'Account record' })
export type AccountRecord = Static<typeof AccountRecord>

/** Fields that only the server sets; in requests they are ignored. */
export const accountReadOnly: readonly string[] = Object.keys(readOnlyFields)

/** A row of children, siblings, descendants (with `tree`) and ancestors. */
export const AccountRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    realm: must(anyText()),
    descendants_count: integer({ description: 'In rows of children and siblings' }),
    flags: list(anyText()),
    tree: list(anyText(), { description: 'IDs of the parent accounts, top first; in rows of descendants' }),
  },
  { title: 'Account row' },
)
export type AccountRow = Static<typeof AccountRow>
