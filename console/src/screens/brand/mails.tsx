import {
  CrosspointError,
  getNotification,
  listNotifications,
  type NotificationRow,
  previewNotification,
} from '@crosspoint/client'
import { Badge, Button, Code, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'
import { setProblems } from '../../parts/fields.tsx'
import { HtmlFrame } from '../../parts/html-frame.tsx'
import { Loading } from '../../parts/screen.tsx'
import { exampleOf, htmlExampleOf } from './macros.ts'

/** A notice as it is stored: its head, and the bodies that there are. */
const useNotice = (noticeId: string) => {
  const { accountId } = usePlace()
  const path = `/v2/accounts/${accountId}/notifications/${noticeId}`
  return useAnswer(['notification', accountId, noticeId], async (signal) => {
    const { data } = await getNotification({
      ...api,
      path: { account_id: accountId, notification_id: noticeId },
      signal,
    })
    const bodyAs = async (type: string) => {
      if (!data.templates[type]) return undefined
      return (await crosspoint.open({ path, accept: type, signal })).text()
    }
    const [html, plain] = await Promise.all([bodyAs('text/html'), bodyAs('text/plain')])
    return { ...data, html, plain }
  })
}

const Sample = ({ noticeId }: { noticeId: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const form = useForm({ initialValues: { 'to.email_addresses': '' } })
  const sending = useChange({
    touches: [],
    run: (address: string) =>
      previewNotification({
        ...api,
        path: { account_id: accountId, notification_id: noticeId },
        body: { data: { to: { type: 'specified', email_addresses: [address] } } },
      }),
    done: (_, address) => tellDone(t('brand.sampleSent', { email: address })),
    failed: (error) => error instanceof CrosspointError && error.status === 400 && setProblems(form, error),
  })
  return (
    <form onSubmit={form.onSubmit((values) => sending.mutate(values['to.email_addresses'].trim()))}>
      <Group align="end">
        <TextInput
          label={t('brand.sampleTo')}
          type="email"
          required
          key={form.key('to.email_addresses')}
          value={form.getValues()['to.email_addresses']}
          error={form.errors['to.email_addresses']}
          onChange={({ currentTarget: { value } }) => form.setValues({ 'to.email_addresses': value })}
        />
        <Button type="submit" variant="default" loading={sending.isPending}>
          {t('brand.sendSample')}
        </Button>
      </Group>
    </form>
  )
}

const Notice = ({ noticeId }: { noticeId: string }) => {
  const { t } = useTranslation()
  const found = useNotice(noticeId)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { macros, subject, enabled, account_overridden, html, plain } = found.data
  return (
    <Stack>
      <Group gap="xs">
        <Title order={2} size="h4" dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {exampleOf(subject, macros)}
        </Title>
        {!enabled && <Badge color="gray">{t('brand.notSent')}</Badge>}
        {account_overridden && <Badge color="green">{t('brand.ownVersion')}</Badge>}
      </Group>
      <Text size="sm" c="dimmed">
        {t('brand.examples')}
      </Text>
      {html !== undefined && <HtmlFrame html={htmlExampleOf(html, macros)} title={t('brand.mailPreview')} />}
      {plain !== undefined && (
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {exampleOf(plain, macros)}
        </Code>
      )}
      <Sample noticeId={noticeId} />
    </Stack>
  )
}

/** The mails that go out in the account's name, as their readers see them. */
export const Mails = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { noticeId } = useParams()
  const [, go] = useLocation()
  const to = useTo()
  const found = useAnswer<{ data: readonly NotificationRow[] }>(['notification', accountId], (signal) =>
    listNotifications({ ...api, path: { account_id: accountId }, query: { paginate: false }, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const rows = found.data.data
  const chosen = noticeId ?? rows[0]?.id
  return (
    <Stack>
      <Text>{t('brand.mailsText')}</Text>
      <Select
        label={t('brand.mail')}
        data={rows.map(({ id, friendly_name }) => ({ value: id, label: friendly_name }))}
        value={chosen ?? null}
        onChange={(id) => id && go(to(`brand/mails/${id}`))}
        searchable
        allowDeselect={false}
        maw="30rem"
      />
      {chosen && <Notice key={chosen} noticeId={chosen} />}
    </Stack>
  )
}
