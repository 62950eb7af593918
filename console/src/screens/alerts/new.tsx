import { createAlert } from '@crosspoint/client'
import { Button, Group, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { gregorianNow } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { setProblems } from '../../parts/fields.tsx'
import { Screen } from '../../parts/screen.tsx'

const audiences = ['account', 'admins', 'descendants', 'resellers', 'all'] as const
type Audience = (typeof audiences)[number]

/** The recipients of an alert in the format of the API. */
const recipientsOf = (
  audience: Audience,
  accountId: string,
): { type: string; value: string | [string, string] } => {
  switch (audience) {
    case 'account':
      return { type: accountId, value: 'all' }
    case 'admins':
      return { type: accountId, value: 'admins' }
    case 'descendants':
      return { type: 'descendants', value: [accountId, 'users'] }
    case 'resellers':
      return { type: 'resellers', value: 'all' }
    case 'all':
      return { type: 'all', value: 'all' }
  }
}

const secondsOfDay = 86_400

/** Creates an alert of the operator. */
export const NewAlert = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const form = useForm({
    initialValues: { title: '', message: '', level: 'info', audience: 'account' as Audience, days: '7' },
  })
  const creating = useChange({
    touches: ['alert'],
    run: ({ title, message, level, audience, days }: typeof form.values) =>
      createAlert({
        ...api,
        path: { account_id: accountId },
        body: {
          data: {
            title,
            message,
            level,
            from: [{ type: 'account', value: crosspoint.session()?.accountId ?? accountId }],
            to: [recipientsOf(audience, accountId)],
            ...(days === '' ? {} : { expiration_date: gregorianNow() + Number(days) * secondsOfDay }),
          },
        },
      }),
    done: () => {
      tellDone(t('created'))
      go(to('alerts'))
    },
    failed: (error) => setProblems(form, error),
  })
  const choices = (group: string, values: readonly string[]) =>
    values.map((value) => ({ value, label: t(`alerts.${group}.${value}`) }))
  return (
    <Screen title={t('alerts.new')}>
      <form onSubmit={form.onSubmit((values) => creating.mutate(values))} noValidate>
        <Stack maw="40rem">
          <TextInput label={t('alerts.title')} required dir="auto" {...form.getInputProps('title')} />
          <Textarea
            label={t('alerts.message')}
            required
            autosize
            minRows={3}
            dir="auto"
            {...form.getInputProps('message')}
          />
          <Select
            label={t('alerts.levelLabel')}
            data={choices('level', ['info', 'warning', 'critical'])}
            allowDeselect={false}
            {...form.getInputProps('level')}
          />
          <Select
            label={t('alerts.audienceLabel')}
            data={choices('audience', audiences)}
            allowDeselect={false}
            {...form.getInputProps('audience')}
          />
          <Select
            label={t('alerts.daysLabel')}
            data={[
              { value: '1', label: t('alerts.days', { count: 1 }) },
              { value: '7', label: t('alerts.days', { count: 7 }) },
              { value: '30', label: t('alerts.days', { count: 30 }) },
              { value: '', label: t('alerts.untilCleared') },
            ]}
            allowDeselect={false}
            {...form.getInputProps('days')}
          />
          <Group>
            <Button type="submit" loading={creating.isPending}>
              {t('create')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Screen>
  )
}
