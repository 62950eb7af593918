import type { SecondFactorNeeded, SignedIn } from '@crosspoint/client'
import { Anchor, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { lazy, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../lib/answers.ts'
import { crosspoint } from '../lib/api.ts'
import { FailureNote } from '../lib/failures.tsx'
import { askForPasskey, hasPasskeys } from '../lib/passkeys.ts'
import { Doorway } from './doorway.tsx'
import { PasskeyButton } from './passkey-button.tsx'

const lastAccountKey = 'crosspoint.account'

/** The user whose session continues; no other user may continue it. */
export interface FixedUser {
  username: string
  /** The name that the account had when the session was opened: to be shown. */
  account: string
  accountId: string
}

const RequestRecovery = lazy(async () => ({ default: (await import('./recovery.tsx')).RequestRecovery }))
const SecondFactor = lazy(async () => ({ default: (await import('./second-factor.tsx')).SecondFactor }))

interface PasswordFormProps {
  fixed?: FixedUser
  onDone: (signedIn: SignedIn) => void
  onSecondFactor: (needed: SecondFactorNeeded) => void
}

const PasswordForm = ({ fixed, onDone, onSecondFactor }: PasswordFormProps) => {
  const { t } = useTranslation()
  const form = useForm({
    initialValues: {
      username: fixed?.username ?? '',
      password: '',
      account: fixed?.account ?? localStorage.getItem(lastAccountKey) ?? '',
    },
  })
  const signingIn = useChange({
    touches: [],
    run: (proof: { username: string; password: string; account: string }) =>
      crosspoint.signIn(fixed ? { ...proof, account: fixed.accountId } : proof),
    done: (outcome, { account: named }) => {
      if (!fixed) localStorage.setItem(lastAccountKey, named)
      if (outcome.state === 'signed_in') onDone(outcome)
      else onSecondFactor(outcome)
    },
    failed: () => true,
  })
  return (
    <form onSubmit={form.onSubmit((values) => signingIn.mutate(values))}>
      <Stack>
        <TextInput
          label={t('signIn.username')}
          required
          autoComplete="username"
          readOnly={fixed !== undefined}
          data-autofocus={fixed === undefined || undefined}
          {...form.getInputProps('username')}
        />
        <PasswordInput
          label={t('signIn.password')}
          required
          autoComplete="current-password"
          data-autofocus={fixed !== undefined || undefined}
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
          {...form.getInputProps('password')}
        />
        <TextInput
          label={t('signIn.account')}
          description={t('signIn.accountHelp')}
          required
          readOnly={fixed !== undefined}
          autoComplete="organization"
          dir="auto"
          {...form.getInputProps('account')}
        />
        {signingIn.error && <FailureNote error={signingIn.error} />}
        <Button type="submit" loading={signingIn.isPending}>
          {t('signIn.submit')}
        </Button>
      </Stack>
    </form>
  )
}

type Step = { is: 'password' } | { is: 'recovery' } | { is: 'second_factor'; needed: SecondFactorNeeded }

/** A passkey, or user name and password, then the second factor where one is asked for; and the way to a new password. */
export const SignInForm = ({ fixed, onDone }: { fixed?: FixedUser; onDone: () => void }) => {
  const { t } = useTranslation()
  const [step, setStep] = useState<Step>({ is: 'password' })
  if (step.is === 'second_factor') return <SecondFactor needed={step.needed} onDone={onDone} />
  if (step.is === 'recovery') return <RequestRecovery onBack={() => setStep({ is: 'password' })} />
  return (
    <>
      <PasswordForm
        fixed={fixed}
        onDone={onDone}
        onSecondFactor={(needed) => setStep({ is: 'second_factor', needed })}
      />
      {hasPasskeys() && (
        <PasskeyButton
          variant="default"
          run={() => crosspoint.signInByPasskey(askForPasskey)}
          onDone={onDone}
        />
      )}
      <Anchor component="button" type="button" size="sm" onClick={() => setStep({ is: 'recovery' })}>
        {t('signIn.forgotten')}
      </Anchor>
    </>
  )
}

export const SignIn = ({ onDone }: { onDone: () => void }) => {
  const { t } = useTranslation()
  return (
    <Doorway title={t('signIn.title')}>
      <SignInForm onDone={onDone} />
    </Doorway>
  )
}
