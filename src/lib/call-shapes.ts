import {
  anyObject,
  anyText,
  choice,
  closed,
  either,
  flag,
  former,
  integer,
  keyed,
  keyedBy,
  list,
  must,
  open,
  text,
  typed,
  uniqueList,
} from './schema.ts'
import { secretUrl } from './secrets.ts'

export const formerNumberFormats = former({
  'e.164': 'e164',
  '1npanxxxxxx': '1npan',
  npanxxxxxx: 'npan',
  e164_without_plus: 'strip_plus',
})

// Call settings that accounts, users and devices share, most general first.

const callerIdentity = (description: string) =>
  open({ name: text(0, 35), number: text(0, 35) }, { description })

const CallerId = open(
  {
    internal: callerIdentity('Shown on internal calls'),
    external: callerIdentity('Shown on external calls'),
    emergency: callerIdentity('Shown on calls to emergency services'),
    asserted: open(
      { name: text(0, 35), number: text(0, 35), realm: anyText() },
      { description: 'Proven identity, passed on inside a trusted network' },
    ),
  },
  { description: 'Caller ID for the called party' },
)

const CallerIdOptions = open({
  outbound_privacy: choice(['full', 'name', 'number', 'none'], {
    description: 'Hidden parts of the caller ID on external calls',
  }),
  privacy_method: choice(['sip', 'none', 'kazoo']),
  show_rate: flag(),
  ignore_completed_elsewhere: flag(),
  type: choice(['internal', 'external', 'emergency']),
  format: keyed(open({ regex: anyText({ format: 'regex' }), prefix: anyText(), suffix: anyText() }), {
    description: 'Rewriting of numbers, by number class or `all`',
  }),
})

const callRestriction = (notes: { default?: object }) =>
  keyed(
    open({ action: choice(['inherit', 'deny'], { description: '`inherit` lets the next level decide' }) }),
    { description: 'Which number classes may not be called', ...notes },
  )

export const CallRestriction = callRestriction({})

const RecordingSettings = closed({
  enabled: flag(),
  format: choice(['mp3', 'wav']),
  record_min_sec: integer({ description: 'Shorter recordings are dropped (seconds)' }),
  record_on_answer: flag(),
  record_on_bridge: flag(),
  record_sample_rate: integer(),
  should_announce_when_recording: flag(),
  should_record_feature_calls: flag({ default: true }),
  time_limit: integer({ minimum: 5, maximum: 10_800, description: 'Longest recording (seconds)' }),
  url: anyText({
    format: 'uri',
    minLength: 6,
    ...secretUrl,
    description: 'URL that receives finished recordings; a password in it is stored and never shown',
  }),
})

const RecordingByNetwork = closed({
  any: RecordingSettings,
  onnet: RecordingSettings,
  offnet: RecordingSettings,
})

export const CallRecording = closed(
  { any: RecordingByNetwork, inbound: RecordingByNetwork, outbound: RecordingByNetwork },
  { description: 'Which calls are recorded, by direction and network' },
)

export const AccountCallRecording = closed({ account: CallRecording, endpoint: CallRecording })

const forwardingFields = {
  number: text(0, 35, { description: 'Number that gets the calls' }),
  keep_caller_id: flag({ default: true, description: 'Show the caller instead of the forwarding endpoint' }),
  require_keypress: flag({ default: true, description: 'Ask the called party to press 1' }),
  direct_calls_only: flag({ default: false, description: 'Leave calls of groups and queues alone' }),
  ignore_early_media: flag({ default: true }),
  substitute: flag({ default: true, description: 'Ring only the number, not the endpoint' }),
}

const forwarding = (description: string) =>
  closed({ enabled: must(flag({ default: false })), ...forwardingFields }, { description })

const CallForward = closed(
  {
    enabled: must(flag({ default: false })),
    ...forwardingFields,
    failover: flag({ description: 'Forward only while the endpoint is offline' }),
    unconditional: forwarding('Every call'),
    busy: forwarding('Calls to a busy endpoint'),
    no_answer: forwarding('Unanswered calls'),
    selective: open({
      enabled: flag(),
      number: text(0, 35),
      rules: list(open({ enabled: flag(), match_list_id: anyText(), number: text(0, 35) })),
    }),
  },
  { description: 'Target of forwarded calls' },
)

const CallFailover = open(
  { enabled: flag({ default: false }), ...forwardingFields },
  { description: 'Destination of calls while the endpoint is unreachable' },
)

const CallLimits = open({ max_concurrent: integer({ description: 'Maximum concurrent calls' }) })
const CallWaiting = open({ enabled: flag() })
const DoNotDisturb = open({ enabled: flag() })
const ContactList = open({ exclude: flag({ description: 'Hide it from the contact list' }) })

export const sipHeaderValue = typed(['string', 'boolean', 'integer'])

export const SipHeaders = keyedBy('^[a-zA-Z0-9_-]+$', sipHeaderValue)

const Formatter = open({
  direction: choice(['inbound', 'outbound', 'both']),
  match_invite_format: flag({ description: 'Format SIP users like the invite format of the endpoint' }),
  prefix: anyText(),
  regex: anyText({ format: 'regex' }),
  strip: flag({ description: 'Remove the field' }),
  suffix: anyText(),
  value: anyText({ description: 'Replace the field by this text' }),
})

const Formatters = keyed(either([list(Formatter), Formatter]), {
  description: 'Rewriting of fields of a call request, by field',
})

const Metaflow = open({
  module: must(text(1, 64)),
  data: anyObject({ default: {} }),
  children: anyObject(),
})

const Metaflows = open(
  {
    binding_digit: choice(['1', '2', '3', '4', '5', '6', '7', '8', '9', '0', '*', '#']),
    digit_timeout: integer({ minimum: 0, description: 'Longest pause between digits (milliseconds)' }),
    listen_on: choice(['both', 'self', 'peer']),
    numbers: keyed(Metaflow),
    patterns: keyed(Metaflow),
  },
  { description: 'Functions of digits during a call' },
)

const DialPlan = open(
  { system: list(anyText(), { description: 'Names of system dial plans' }) },
  {
    additionalProperties: open({ description: anyText(), prefix: anyText(), suffix: anyText() }),
    description: 'Completion of dialed numbers, by regular expression',
  },
)

/** `longest`: length of the media reference. */
export const musicOnHold = (longest: number) =>
  open(
    {
      media_id: text(0, longest),
      options: list(choice(['preserve-position', 'random-start'])),
    },
    { default: {} },
  )

const Ringtones = open({
  internal: text(0, 256, { description: 'Alert-Info header of internal calls' }),
  external: text(0, 256, { description: 'Alert-Info header of external calls' }),
})

export const EmergencyAddress = open(
  {
    name: must(anyText()),
    house_number: must(integer()),
    street: must(anyText()),
    locality: must(anyText()),
    region: must(anyText()),
    postal_code: must(anyText()),
    country: must(anyText()),
    callback_cid_number: text(10, 10),
    delivery_method: choice(['direct', 'three_way', 'security_desk']),
    floor: anyText(),
    latitude: text(0, 11, { description: 'WGS84' }),
    longitude: text(0, 11, { description: 'WGS84' }),
  },
  { description: 'Address for emergency services' },
)

export const Addresses = open({ emergency: EmergencyAddress })

const audioCodecs = `
  OPUS CELT@32000h G7221@32000h G7221@16000h G722 speex@32000h speex@16000h PCMU PCMA G729 GSM
  CELT@48000h CELT@64000h G722_16 G722_32 CELT_48 CELT_64 Speex speex
`
  .trim()
  .split(/\s+/)

const Media = open({
  audio: open({ codecs: uniqueList(choice(audioCodecs)) }),
  video: open({ codecs: uniqueList(choice(['H261', 'H263', 'H264', 'VP8'])) }),
  bypass_media: typed(['boolean', 'string'], { enum: [true, false, 'auto'] }),
  encryption: open({
    enforce_security: flag({ default: false }),
    methods: list(choice(['zrtp', 'srtp'])),
  }),
  fax_option: flag({ ...former({ auto: true }), description: 'T.38 is supported' }),
  ignore_early_media: flag(),
  progress_timeout: integer({ description: 'Seconds' }),
  webrtc: flag(),
})

export const Voicemail = open({
  notify: open({
    callback: open(
      {
        attempts: integer(),
        disabled: flag(),
        interval_s: integer({ description: 'Pause between attempts (seconds)' }),
        number: anyText(),
        schedule: list(integer(), { description: 'Pauses before each attempt (seconds)' }),
        timeout_s: integer({ description: 'How long it rings (seconds)' }),
      },
      { description: 'Calls that notify of new messages' },
    ),
  }),
})

export const Flags = list(anyText(), { description: 'Free marks, for filters and routing' })

/** Fields that accounts, users and devices have in common. */
export const callFields = {
  call_failover: CallFailover,
  call_forward: CallForward,
  call_limits: CallLimits,
  call_restriction: callRestriction({ default: {} }),
  call_waiting: CallWaiting,
  caller_id: CallerId,
  caller_id_options: CallerIdOptions,
  dial_plan: DialPlan,
  do_not_disturb: DoNotDisturb,
  flags: Flags,
  formatters: Formatters,
  metaflows: Metaflows,
  ringtones: Ringtones,
}

/** Fields that only users and devices have in common. */
export const endpointFields = {
  ...callFields,
  call_recording: CallRecording,
  contact_list: ContactList,
  media: Media,
  music_on_hold: musicOnHold(128),
  presence_id: anyText({ description: 'Name for presence subscriptions' }),
}
