import { Divider, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ActAs } from './act-as.tsx'
import { Attempts } from './attempts.tsx'
import { Passkeys } from './passkeys.tsx'
import { NewPassword, RecoveryLink } from './password.tsx'
import { SecondFactor, Sessions } from './sessions.tsx'
import type { SignInSubject } from './sign-in-subject.ts'

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <Stack gap="sm">
    <Title order={2} size="h4">
      {title}
    </Title>
    {children}
  </Stack>
)

/** Helps users who cannot sign in, and signs in as a user. */
export const SignInTab = ({ user }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  return (
    <Stack gap="lg" maw="60rem">
      <Part title={t('users.password')}>
        <NewPassword user={user} />
        <RecoveryLink user={user} />
      </Part>
      <Divider />
      <Part title={t('users.secondFactor')}>
        <SecondFactor user={user} />
      </Part>
      <Divider />
      <Part title={t('users.passkeys')}>
        <Passkeys user={user} />
      </Part>
      <Divider />
      <Part title={t('users.sessions')}>
        <Sessions user={user} />
        <ActAs user={user} />
      </Part>
      <Divider />
      <Part title={t('users.attempts')}>
        <Attempts user={user} />
      </Part>
    </Stack>
  )
}
