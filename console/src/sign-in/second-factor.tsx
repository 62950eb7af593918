import type { SecondFactorNeeded } from '@crosspoint/client'
import { Anchor, Button, Code, Group, List, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAnswer, useChange } from '../lib/answers.ts'
import { FailureNote } from '../lib/failures.tsx'
import { Loading } from '../parts/screen.tsx'
import { QrCode } from './qr-code.tsx'

/** Shown once: whoever has lost the phone gets in with one of them. */
const RecoveryCodes = ({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) => {
  const { t } = useTranslation()
  return (
    <Stack>
      <Text>{t('signIn.recoveryCodes')}</Text>
      <List listStyleType="none">
        {codes.map((code) => (
          <List.Item key={code}>
            <Code>{code}</Code>
          </List.Item>
        ))}
      </List>
      <Button onClick={onDone}>{t('signIn.recoveryCodesKept')}</Button>
    </Stack>
  )
}

const Enrolment = ({ needed }: { needed: SecondFactorNeeded }) => {
  const { t } = useTranslation()
  const found = useAnswer(['enrolment'], () => needed.enrol())
  if (found.error && !found.data) return <FailureNote error={found.error} />
  if (!found.data) return <Loading />
  return (
    <Stack>
      <Text>{t('signIn.enrol')}</Text>
      <QrCode text={found.data} label={t('signIn.qrCode')} />
      <Group gap="xs">
        <Anchor href={found.data} size="sm">
          {t('signIn.openApp')}
        </Anchor>
      </Group>
    </Stack>
  )
}

/** The code of an authenticator app, which is set up first by whoever has none yet. */
export const SecondFactor = ({ needed, onDone }: { needed: SecondFactorNeeded; onDone: () => void }) => {
  const { t } = useTranslation()
  const [code, setCode] = useState('')
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[]>()
  const answering = useChange({
    touches: [],
    run: (given: string) => needed.answer(given),
    done: ({ recoveryCodes: told }) => (told ? setRecoveryCodes(told) : onDone()),
    failed: () => true,
  })
  if (recoveryCodes) return <RecoveryCodes codes={recoveryCodes} onDone={onDone} />
  const submit = (event: FormEvent) => {
    event.preventDefault()
    answering.mutate(code.trim())
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {!needed.isEnrolled && <Enrolment needed={needed} />}
        <TextInput
          label={t('signIn.code')}
          description={needed.isEnrolled ? t('signIn.codeHelp') : undefined}
          required
          autoComplete="one-time-code"
          data-autofocus
          value={code}
          onChange={({ currentTarget: { value } }) => setCode(value)}
        />
        {answering.error && <FailureNote error={answering.error} />}
        <Button type="submit" loading={answering.isPending}>
          {t('signIn.submit')}
        </Button>
      </Stack>
    </form>
  )
}
