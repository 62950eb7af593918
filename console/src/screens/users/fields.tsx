import { Radio, Stack } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Field, type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { TimezoneSelect } from '../../parts/timezone-select.tsx'

const basics = ['first_name', 'last_name', 'username', 'email', 'enabled', 'priv_level']
const person = ['language', 'timezone', 'profile.title', 'profile.role', 'profile.note', 'flags']
const callerId = [
  'caller_id.internal.name',
  'caller_id.internal.number',
  'caller_id.external.name',
  'caller_id.external.number',
  'caller_id.emergency.name',
  'caller_id.emergency.number',
  'caller_id_options.outbound_privacy',
]
const forwarding = [
  'call_forward.enabled',
  'call_forward.number',
  'call_forward.substitute',
  'call_forward.keep_caller_id',
  'call_forward.require_keypress',
  'call_forward.direct_calls_only',
  'call_forward.failover',
  'do_not_disturb.enabled',
]
const calls = [
  'call_waiting.enabled',
  'call_limits.max_concurrent',
  'presence_id',
  'music_on_hold.media_id',
  'ringtones.internal',
  'ringtones.external',
  'contact_list.exclude',
]
const voicemail = [
  'vm_to_email_enabled',
  'voicemail.notify.callback.disabled',
  'voicemail.notify.callback.number',
  'voicemail.notify.callback.attempts',
  'voicemail.notify.callback.interval_s',
  'voicemail.notify.callback.timeout_s',
]
const hotdesk = [
  'hotdesk.enabled',
  'hotdesk.id',
  'hotdesk.require_pin',
  'hotdesk.pin',
  'hotdesk.keep_logged_in_elsewhere',
]

export const groups: readonly FieldGroup[] = [
  { title: 'users.basics', fields: basics },
  { title: 'users.person', fields: person },
  { title: 'users.callerId', fields: callerId },
  { title: 'users.forwarding', fields: forwarding },
  { title: 'users.calls', fields: calls },
  { title: 'users.voicemail', fields: voicemail },
  { title: 'users.hotdesk', fields: hotdesk },
  { title: 'users.signInLimits', fields: ['scope_restrictions'] },
]

/** What is asked of a new user. The way in is no field of the record. */
export const newGroups: readonly FieldGroup[] = [
  { title: 'users.basics', fields: basics },
  { title: 'users.wayIn', fields: ['way_in', 'password'] },
  { title: 'users.person', fields: ['language', 'timezone'] },
]

/** How a new user gets in for the first time. */
export const waysIn = ['link', 'password', 'none'] as const

/** What each level may do, in words. */
const PrivLevel: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { value, ...input } = form.getInputProps(path)
  return (
    <Radio.Group {...input} value={String(value ?? 'user')} label={labelOf(path)}>
      <Stack gap="xs" mt={4}>
        {['user', 'admin'].map((level) => (
          <Radio
            key={level}
            value={level}
            label={t(`users.level.${level}`)}
            description={t(`users.levelText.${level}`)}
          />
        ))}
      </Stack>
    </Radio.Group>
  )
}

const WayIn: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { value, ...input } = form.getInputProps(path)
  return (
    <Radio.Group {...input} value={String(value)} label={labelOf(path)}>
      <Stack gap="xs" mt={4}>
        {waysIn.map((way) => (
          <Radio
            key={way}
            value={way}
            label={t(`users.way.${way}`)}
            description={t(`users.wayText.${way}`)}
          />
        ))}
      </Stack>
    </Radio.Group>
  )
}

const FirstPassword: OwnField = (props) =>
  props.form.getValues().way_in === 'password' ? <Field {...props} /> : null

export const own: Readonly<Record<string, OwnField>> = {
  priv_level: PrivLevel,
  timezone: TimezoneSelect,
  way_in: WayIn,
  password: FirstPassword,
}
