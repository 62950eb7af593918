import { CrosspointError, type SecondFactorNeeded, type SignedIn } from '@crosspoint/client'
import { Anchor, Button, Code, Group, List, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAnswer, useChange } from '../lib/answers.ts'
import { FailureNote } from '../lib/failures.tsx'
import { askForPasskey, hasPasskeys } from '../lib/passkeys.ts'
import { Loading } from '../parts/screen.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { QrCode } from './qr-code.tsx'

/** Shown once: users who lost the phone sign in with one of them. */
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

/** The way to a first app, above what its code is typed into. */
const Enrolment = ({ needed, children }: { needed: SecondFactorNeeded; children: ReactNode }) => {
  const { t } = useTranslation()
  const found = useAnswer(['enrolment'], () => needed.enrol())
  // The password is correct; a user with another factor does not set up a new one.
  if (found.error instanceof CrosspointError && found.error.status === 401)
    return <Text role="status">{t('signIn.passkeyElsewhere', { host: location.hostname })}</Text>
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
      {children}
    </Stack>
  )
}

/** Answers with a code, or with what a passkey has signed. The first code of an app is followed by recovery codes. */
const useAnswering = (needed: SecondFactorNeeded, onDone: () => void) => {
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[]>()
  const take = ({ recoveryCodes: told }: SignedIn) => (told ? setRecoveryCodes(told) : onDone())
  const answering = useChange({
    touches: [],
    run: (given: string) => needed.answer(given),
    done: take,
    failed: () => true,
  })
  return { answering, take, recoveryCodes }
}

const CodeForm = ({
  answering,
  description,
}: Pick<ReturnType<typeof useAnswering>, 'answering'> & { description?: string }) => {
  const { t } = useTranslation()
  const [code, setCode] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    answering.mutate(code.trim())
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('signIn.code')}
          description={description}
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

/**
 * The second factor: a passkey or the code of an authenticator app. A user with neither sets up an app first.
 */
export const SecondFactor = ({ needed, onDone }: { needed: SecondFactorNeeded; onDone: () => void }) => {
  const { t } = useTranslation()
  const { answering, take, recoveryCodes } = useAnswering(needed, onDone)
  if (recoveryCodes) return <RecoveryCodes codes={recoveryCodes} onDone={onDone} />
  const { passkey, isEnrolled } = needed
  const hasPasskey = passkey !== undefined
  return (
    <Stack>
      {hasPasskey && (
        <>
          <Text>{t(hasPasskeys() ? 'signIn.passkeyFactor' : 'signIn.noPasskeysHere')}</Text>
          {hasPasskeys() && (
            <PasskeyButton
              run={async () => needed.answer(JSON.stringify(await askForPasskey(passkey)))}
              onDone={take}
            />
          )}
        </>
      )}
      {hasPasskey && !isEnrolled && (
        <Text size="sm" c="dimmed">
          {t('signIn.passkeyOnly')}
        </Text>
      )}
      {isEnrolled && <CodeForm answering={answering} description={t('signIn.codeHelp')} />}
      {!hasPasskey && !isEnrolled && (
        <Enrolment needed={needed}>
          <CodeForm answering={answering} />
        </Enrolment>
      )}
    </Stack>
  )
}
