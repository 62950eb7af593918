import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  gregorian,
  id,
  integer,
  keyed,
  keyedBy,
  list,
  multiline,
  must,
  open,
  text,
} from '../../../lib/schema.ts'
import { readableSecret, secretUrl } from '../../../lib/secrets.ts'

const headerName = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$"
// The pattern allows tabs and no other control characters.
const headerValue = text(0, 4096, { ...multiline, pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$' })

const SecuritySettings = open({
  sha256_key: text(1, 512, { ...readableSecret, description: 'Signs what is sent' }),
  previous_key: text(1, 512, {
    ...readableSecret,
    description: 'Signs additionally, until receivers use the new one',
  }),
})

const fields = {
  name: must(text(1, 128)),
  uri: must(
    text(1, 4096, {
      ...secretUrl,
      format: 'uri',
      description: 'URL that receives events: http or https. Responses show a password in it as ***',
    }),
  ),
  hook: must(
    text(1, 128, {
      description: 'Its events: all, a hook of GET /v2/webhooks, an event type, or <kind>.*',
    }),
  ),
  http_verb: choice(['get', 'post', 'put'], { default: 'post' }),
  format: choice(['form-data', 'json'], {
    default: 'form-data',
    description: 'Format of bodies; none for get',
  }),
  retries: integer({
    minimum: 0,
    maximum: 4,
    default: 2,
    description: '0: failed deliveries are not repeated. Any other value: they are repeated for three days',
  }),
  enabled: flag({ default: true }),
  include_subaccounts: flag({ default: false, description: 'Includes events of sub-accounts' }),
  include_internal_legs: flag({
    default: true,
    description: 'false: excludes call records of legs that a switch made to itself',
  }),
  version: choice(['v1', 'v2'], { default: 'v1', description: 'Format of the events' }),
  custom_data: keyed(anyText(), {
    description: 'Added to the events; type and action select events of some hooks',
  }),
  custom_request_headers: keyedBy(headerName, headerValue, {
    ...readableSecret,
    description: 'Sent as they are',
  }),
  security_settings: SecuritySettings,
}

export const Webhook = open(fields, { title: 'Webhook' })
export type Webhook = Static<typeof Webhook>

export const WebhookRecord = open({ id: must(id()), ...fields }, { title: 'Webhook record' })

export const WebhookRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    enabled: must(flag()),
    hook: must(anyText()),
    uri: must(anyText()),
    http_verb: must(anyText()),
    format: must(anyText()),
    version: must(anyText()),
    include_subaccounts: must(flag()),
    group: anyText(),
    disable_reason: anyText({ description: 'Reason why the server disabled it' }),
  },
  { title: 'Webhook row' },
)

export const WebhookKind = open(
  {
    id: must(anyText()),
    name: must(anyText()),
    description: must(anyText()),
    modifiers: must(anyObject({ description: 'Required keys of its custom_data' })),
  },
  { title: 'Kind of webhook' },
)
export type WebhookKind = Static<typeof WebhookKind>

export const Sample = anyObject({ description: 'Sample events of that kind, in version 1' })

export const SampleNames = list(anyText(), { description: 'Kinds with samples' })

export const ReEnable = open({ 're-enable': must(flag()) }, { title: 'Enabling webhooks again' })
export type ReEnable = Static<typeof ReEnable>

export const Replay = open(
  {
    attempt_id: id({ description: 'The event of this attempt is sent again' }),
    after: text(16, 16, {
      pattern: '^[0-9]*$',
      description: 'Every event of the hook after this sequence is sent',
    }),
  },
  { title: 'Telling a webhook again' },
)
export type Replay = Static<typeof Replay>

export const Attempt = open(
  {
    id: must(id()),
    hook_id: must(id()),
    hook_event: must(anyText()),
    event_id: must(anyText({ description: 'The sequence of the event' })),
    uri: must(anyText()),
    method: must(anyText()),
    req_headers: must(anyObject()),
    req_body: must(anyText({ description: 'Sent body; for get, the query' })),
    resp_status_code: integer(),
    resp_headers: anyObject(),
    resp_body: anyText({ description: 'Its first 2,048 bytes' }),
    result: must(choice(['success', 'failure'])),
    reason: anyText(),
    client_error: anyText({ description: 'Error, if there was no response' }),
    retries_left: must(integer({ description: 'Maximum number of retries' })),
    timestamp: must(gregorian('Time of the attempt')),
    duration_ms: must(integer()),
  },
  { title: 'Attempt to tell a webhook' },
)
export type Attempt = Static<typeof Attempt>
