import {
  createWhitelabelEmail,
  deleteWhitelabelEmail,
  getWhitelabelEmail,
  listWhitelabelEmails,
  replaceWhitelabelEmail,
  verifyWhitelabelEmail,
  type WhitelabelEmailRow,
} from '@crosspoint/client'
import { Badge, Button, FileButton, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDisclosure } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject } from '../../lib/json.ts'
import { gregorianOf, showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { setProblems } from '../../parts/fields.tsx'
import { Loading } from '../../parts/screen.tsx'
import { canMakeKeys, makeKey } from './dkim-key.ts'
import { type SenderCheck, useDnsCheck } from './dns-check.ts'
import { CheckBar, DnsLine, stateOf } from './dns-line.tsx'

const kind = 'whitelabel_email'
const firstSelector = 'crosspoint'

const useSenderPath = (id: string) => {
  const { accountId } = usePlace()
  return { account_id: accountId, email_id: id }
}

const Verify = ({ id, email }: { id: string; email: string }) => {
  const { t } = useTranslation()
  const path = useSenderPath(id)
  const form = useForm({ initialValues: { code: '' } })
  const verifying = useChange({
    touches: [kind],
    run: (code: string) => verifyWhitelabelEmail({ ...api, path, body: { data: { code } } }),
    done: () => tellDone(t('brand.verified')),
    failed: (error) => setProblems(form, error),
  })
  return (
    <form onSubmit={form.onSubmit(({ code }) => verifying.mutate(code.trim()))}>
      <Group align="end">
        <TextInput
          label={t('brand.code')}
          description={t('brand.codeHelp', { email })}
          required
          inputMode="numeric"
          autoComplete="one-time-code"
          {...form.getInputProps('code')}
        />
        <Button type="submit" loading={verifying.isPending}>
          {t('brand.verify')}
        </Button>
      </Group>
    </form>
  )
}

const useSigning = (id: string) => {
  const { t } = useTranslation()
  const path = useSenderPath(id)
  const keepKey = async (key: Blob) => {
    await replaceWhitelabelEmail({
      ...api,
      path,
      body: key,
      headers: { 'content-type': 'application/x-pem-file' },
    })
  }
  return useChange({
    touches: [kind],
    run: async ({ selector, key }: { selector: string | undefined; key: Blob | undefined }) => {
      if (selector === undefined)
        await replaceWhitelabelEmail({ ...api, path, body: { data: { dkim_selector: firstSelector } } })
      await keepKey(key ?? (await makeKey()))
    },
    done: () => tellDone(t('saved')),
  })
}

/** The key that mail of the address is signed with, and the line that lets receivers check it. */
const Signing = ({ id, email, check }: { id: string; email: string; check: SenderCheck | undefined }) => {
  const { t } = useTranslation()
  const path = useSenderPath(id)
  const found = useAnswer([kind, path.account_id, id], (signal) =>
    getWhitelabelEmail({ ...api, path, signal }),
  )
  const signing = useSigning(id)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, metadata } = found.data
  const selector = data.dkim_selector || undefined
  const key = isObject(metadata.dkim) ? metadata.dkim : undefined
  const host = email.slice(email.lastIndexOf('@') + 1)
  return (
    <Stack gap="xs">
      {key && selector ? (
        <Stack component="ul" gap={0} p={0} m={0} style={{ listStyle: 'none' }}>
          <DnsLine
            type="TXT"
            host={check?.dkim?.name ?? `${selector}._domainkey.${host}`}
            expected={[String(key.record)]}
            purpose={t('brand.signature')}
            state={stateOf(check?.dkim)}
            actual={check?.dkim?.actual}
            error={check?.dkim?.error}
          />
        </Stack>
      ) : (
        <Text size="sm">{t('brand.unsigned')}</Text>
      )}
      <Group>
        <Button
          size="compact-sm"
          variant="default"
          disabled={!canMakeKeys()}
          loading={signing.isPending}
          onClick={() => signing.mutate({ selector, key: undefined })}
        >
          {t(key ? 'brand.newKey' : 'brand.makeKey')}
        </Button>
        <FileButton
          onChange={(file) => file && signing.mutate({ selector, key: file })}
          inputProps={{ 'aria-label': t('brand.keyFile', { email }) }}
        >
          {(props) => (
            <Button {...props} size="compact-sm" variant="default">
              {t('brand.uploadKey')}
            </Button>
          )}
        </FileButton>
      </Group>
    </Stack>
  )
}

const Sender = ({ row, check }: { row: WhitelabelEmailRow; check: SenderCheck | undefined }) => {
  const { t } = useTranslation()
  const { id, email, verified } = row
  const path = useSenderPath(id)
  const [opened, { open, close }] = useDisclosure(false)
  const deleting = useChange({
    touches: [kind],
    run: () => deleteWhitelabelEmail({ ...api, path }),
    done: () => tellDone(t('deleted')),
  })
  return (
    <Paper withBorder p="md" component="section" aria-label={email}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="xs">
            <Title order={2} size="h5" style={{ overflowWrap: 'anywhere' }}>
              {email}
            </Title>
            <Badge color={verified ? 'green' : 'gray'}>
              {t(verified ? 'brand.isVerified' : 'brand.isNotVerified')}
            </Badge>
            {check?.spf && !check.spf.error && (
              <Badge color={check.spf.valid && check.spf.permits !== false ? 'green' : 'red'}>
                {t(check.spf.valid && check.spf.permits !== false ? 'brand.spfRight' : 'brand.spfWrong')}
              </Badge>
            )}
          </Group>
          <Button
            size="compact-sm"
            variant="default"
            onClick={open}
            aria-label={t('brand.remove', { email })}
          >
            {t('delete')}
          </Button>
        </Group>
        {!verified && <Verify id={id} email={email} />}
        <Signing id={id} email={email} check={check} />
      </Stack>
      <Confirm
        opened={opened}
        title={t('brand.remove', { email })}
        text={t('brand.removeText')}
        action={t('delete')}
        busy={deleting.isPending}
        onConfirm={() => deleting.mutate(undefined)}
        onClose={close}
      />
    </Paper>
  )
}

const NewSender = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [email, setEmail] = useState('')
  const form = useForm({ initialValues: { email: '' } })
  const adding = useChange({
    touches: [kind],
    run: (data: { email: string; dkim_selector: string }) =>
      createWhitelabelEmail({ ...api, path: { account_id: accountId }, body: { data } }),
    done: (_, given) => {
      setEmail(given.email)
      form.reset()
    },
    failed: (error) => setProblems(form, error),
  })
  const submit = (event: FormEvent<HTMLFormElement>) =>
    form.onSubmit((values) => adding.mutate({ email: values.email.trim(), dkim_selector: firstSelector }))(
      event,
    )
  return (
    <form onSubmit={submit}>
      <Group align="end">
        <TextInput
          label={t('brand.newSender')}
          description={t('brand.newSenderHelp')}
          type="email"
          required
          {...form.getInputProps('email')}
        />
        <Button type="submit" loading={adding.isPending}>
          {t('brand.add')}
        </Button>
      </Group>
      {email !== '' && (
        <Text size="sm" mt="xs" role="status">
          {t('brand.codeSent', { email })}
        </Text>
      )}
    </form>
  )
}

/** The addresses that mail of the brand comes from. */
export const Senders = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const dns = useDnsCheck()
  const found = useAnswer([kind, accountId], (signal) =>
    listWhitelabelEmails({ ...api, path: { account_id: accountId }, query: { paginate: false }, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const rows = found.data.data
  return (
    <Stack>
      <Text>{t('brand.sendersText')}</Text>
      <NewSender />
      {rows.length === 0 && <Text c="dimmed">{t('brand.sendersNone')}</Text>}
      {rows.length > 0 && <CheckBar dns={dns} showClock={(at) => showTime(gregorianOf(at), timezone)} />}
      {dns.error && <FailureNote error={dns.error} />}
      {rows.map((row) => (
        <Sender key={row.id} row={row} check={dns.senders?.find(({ id }) => id === row.id)} />
      ))}
    </Stack>
  )
}
