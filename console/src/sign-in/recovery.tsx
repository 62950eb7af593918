import { type SecondFactorNeeded, type Session, type SignedIn, updateUser } from '@crosspoint/client'
import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type RefObject, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../lib/answers.ts'
import { api, crosspoint } from '../lib/api.ts'
import { FailureNote } from '../lib/failures.tsx'
import { Doorway } from './doorway.tsx'
import { SecondFactor } from './second-factor.tsx'

type Outcome = SignedIn | SecondFactorNeeded

/** Sends a password link. The message is the same whether the user exists or not. */
export const RequestRecovery = ({ onBack }: { onBack: () => void }) => {
  const { t } = useTranslation()
  const form = useForm({ initialValues: { username: '', account: '' } })
  const asking = useChange({
    touches: [],
    run: (named: { username: string; account: string }) =>
      crosspoint.requestRecovery({ ...named, uiUrl: `${location.origin}/` }),
    failed: () => true,
  })
  return (
    <form onSubmit={form.onSubmit((values) => asking.mutate(values))}>
      <Stack>
        <Text size="sm">{t('recovery.explanation')}</Text>
        <TextInput
          label={t('signIn.username')}
          required
          autoComplete="username"
          {...form.getInputProps('username')}
        />
        <TextInput
          label={t('signIn.account')}
          required
          autoComplete="organization"
          dir="auto"
          {...form.getInputProps('account')}
        />
        {asking.error && <FailureNote error={asking.error} />}
        {asking.isSuccess && <Text role="status">{t('recovery.sent')}</Text>}
        <Button type="submit" loading={asking.isPending}>
          {t('recovery.send')}
        </Button>
        <Anchor component="button" type="button" size="sm" onClick={onBack}>
          {t('back')}
        </Anchor>
      </Stack>
    </form>
  )
}

/**
 * The link is used up with the password that is chosen, and not before: a page that is loaded again still has it. A
 * password that is refused may be followed by another, in the session that the link has opened.
 */
const choosePassword = async (resetId: string, opened: RefObject<Session | undefined>, password: string) => {
  opened.current ??= (await crosspoint.signInByRecovery(resetId)).session
  const { accountId, userId = '', login } = opened.current
  const path = { account_id: accountId, user_id: userId }
  const { data } = await updateUser({
    ...api,
    path,
    body: { data: { password, require_password_update: false } },
  })
  // That ends every session of the user, the one of the link too: it was good for a password and nothing else.
  const username = data.username ?? ''
  return crosspoint.signIn({ username, password, account: login.account_name ?? accountId })
}

const NewPassword = ({ resetId, onDone }: { resetId: string; onDone: (outcome: Outcome) => void }) => {
  const { t } = useTranslation()
  const opened = useRef<Session>(undefined)
  const form = useForm({
    initialValues: { password: '', repeated: '' },
    validate: { repeated: (text, { password }) => (text === password ? null : t('recovery.differ')) },
  })
  const choosing = useChange({
    touches: [],
    run: ({ password }: { password: string }) => choosePassword(resetId, opened, password),
    done: onDone,
    failed: () => true,
  })
  return (
    <form onSubmit={form.onSubmit((values) => choosing.mutate(values))}>
      <Stack>
        <Text size="sm">{t('recovery.choose')}</Text>
        <PasswordInput
          label={t('recovery.newPassword')}
          required
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
          {...form.getInputProps('password')}
        />
        <PasswordInput
          label={t('recovery.repeat')}
          required
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
          {...form.getInputProps('repeated')}
        />
        {choosing.error && <FailureNote error={choosing.error} />}
        <Button type="submit" loading={choosing.isPending}>
          {t('recovery.save')}
        </Button>
      </Stack>
    </form>
  )
}

/** The target of an emailed link or of the first start: it works once. */
export const Recovery = ({ resetId, onDone }: { resetId: string; onDone: () => void }) => {
  const { t } = useTranslation()
  const [needed, setNeeded] = useState<SecondFactorNeeded>()
  const take = (outcome: Outcome) => (outcome.state === 'signed_in' ? onDone() : setNeeded(outcome))
  return (
    <Doorway title={t('recovery.title')}>
      {needed ? (
        <SecondFactor needed={needed} onDone={onDone} />
      ) : (
        <NewPassword resetId={resetId} onDone={take} />
      )}
      <Anchor href="/" size="sm">
        {t('recovery.toSignIn')}
      </Anchor>
    </Doorway>
  )
}
