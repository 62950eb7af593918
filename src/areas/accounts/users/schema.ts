import { type Static, Type } from 'typebox'
import { AllowedProxies } from '../../../lib/allowed-proxies.ts'
import {
  CallRecording,
  EmergencyAddress,
  endpointFields,
  Flags,
  Voicemail,
} from '../../../lib/call-shapes.ts'
import { recordShape } from '../../../lib/record-shape.ts'
import {
  anyText,
  choice,
  flag,
  id,
  keyed,
  list,
  multiline,
  must,
  open,
  text,
  timezone,
} from '../../../lib/schema.ts'
import { scope } from '../../../lib/scopes.ts'
import { readableSecret, secret } from '../../../lib/secrets.ts'

const Profile = open({
  addresses: list(open({ address: anyText(), types: list(anyText()) })),
  assistant: anyText(),
  birthday: anyText(),
  nicknames: list(anyText()),
  note: anyText(multiline),
  role: anyText(),
  'sort-string': anyText({ description: 'Name to sort by' }),
  title: anyText(),
})

const Hotdesk = open(
  {
    enabled: flag({ default: false }),
    id: text(0, 15, { description: 'Number that the user dials; unique in the account' }),
    pin: text(4, 15, readableSecret),
    require_pin: flag({ default: false }),
    keep_logged_in_elsewhere: flag({ default: false }),
  },
  { default: {}, description: "Signing in at other people's phones" },
)

const fields = {
  first_name: must(text(1, 128)),
  last_name: must(text(1, 128)),
  username: text(1, 256, {
    pattern: '^([+@.\\w_-]+)$',
    description: 'Unique in the account, ignoring case',
  }),
  email: text(3, 254, { format: 'email' }),
  enabled: flag({ default: true, description: 'A disabled user cannot sign in' }),
  priv_level: choice(['user', 'admin'], { default: 'user' }),
  ...endpointFields,
  addresses: open({
    emergency: EmergencyAddress,
    vcard: list(open({ address: must(anyText()), types: list(anyText()) })),
  }),
  allowed_proxy_ips: AllowedProxies,
  directories: keyed(anyText(), { description: 'Callflow to run, by directory' }),
  feature_level: anyText(),
  hotdesk: Hotdesk,
  language: anyText({ description: 'Such as en-us' }),
  profile: Profile,
  pronounced_name: open({ media_id: text(0, 128) }),
  require_password_update: flag({ default: false }),
  scope_restrictions: list(scope, {
    maxItems: 200,
    description: 'Scopes of the tokens of the user, as for named API keys; empty: all',
  }),
  timezone: timezone({ description: 'Name of the time zone database' }),
  verified: flag({ default: false }),
  vm_to_email_enabled: flag({ default: true }),
  voicemail: Voicemail,
}

const secretFields = {
  password: anyText({ writeOnly: true, ...secret }),
  credentials: anyText({
    writeOnly: true,
    ...secret,
    description: 'MD5 of `username:password`, instead of a password',
  }),
}

const userShape = recordShape(fields, {
  title: 'User',
  description: 'A person who signs in and owns phones. Other fields are stored',
  computed: {
    features: list(anyText(), { readOnly: true, description: 'Enabled features' }),
    has_avatar: flag({ readOnly: true, description: 'Whether there is a photo' }),
  },
  writeOnly: secretFields,
})
export const { body: User, record: UserRecord, computed: userReadOnly } = userShape
export type User = Static<typeof User>
export type UserRecord = Static<typeof UserRecord>

/** Response of a deletion: the former user, and the records that were deleted with the user. */
export const DeletedUser = Type.Object(
  {
    ...UserRecord.properties,
    object_types: Type.Optional(
      list(
        open(
          {
            type: must(anyText()),
            id: must(anyText({ description: 'The number, for phone numbers' })),
            status: must(anyText()),
          },
          { title: 'Removed object' },
        ),
        { description: 'If the request has types' },
      ),
    ),
  },
  { title: 'Deleted user' },
)

export const UserRow = open(
  {
    id: must(id()),
    first_name: must(anyText()),
    last_name: must(anyText()),
    username: anyText(),
    email: anyText(),
    priv_level: anyText(),
    feature_level: anyText(),
    presence_id: anyText(),
    timezone: anyText(),
    call_recording: CallRecording,
    flags: Flags,
    features: list(anyText()),
  },
  { title: 'User row' },
)
export type UserRow = Static<typeof UserRow>
