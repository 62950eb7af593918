import { updateUser } from '@crosspoint/client'
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { problemsOf } from '../../lib/problems.ts'
import { tellDone } from '../../lib/toasts.tsx'
import type { SignInSubject } from './sign-in-subject.ts'

/** Sets a password that an admin gives the user. */
export const NewPassword = ({ user: { userId, username } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const form = useForm({ initialValues: { password: '' } })
  const saving = useChange({
    touches: ['user'],
    run: (data: { password: string }) =>
      updateUser({ ...api, path: { account_id: accountId, user_id: userId }, body: { data } }),
    done: () => {
      form.reset()
      tellDone(t('users.passwordSet'))
    },
    failed: (error) => {
      const { password } = problemsOf(error)
      if (password === undefined) return false
      form.setFieldError('password', password)
      return true
    },
  })
  if (username === undefined) return <Text size="sm">{t('users.noUsername')}</Text>
  return (
    <form onSubmit={form.onSubmit((values) => saving.mutate(values))}>
      <Stack gap="sm" maw="30rem">
        <PasswordInput
          label={t('users.newPassword')}
          autoComplete="new-password"
          required
          withAsterisk={false}
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
          {...form.getInputProps('password')}
        />
        <Group>
          <Button type="submit" loading={saving.isPending} disabled={form.values.password === ''}>
            {t('users.setPassword')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Emails a link to choose a password, so that only the user knows it. */
export const RecoveryLink = ({ user: { username, email } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const sending = useChange({
    touches: [],
    run: (name: string) =>
      crosspoint.requestRecovery({
        username: name,
        account: accountId,
        uiUrl: `${location.origin}/`,
      }),
    done: () => tellDone(t('users.linkSent', { email })),
  })
  if (username === undefined) return null
  if (email === undefined) return <Text size="sm">{t('users.noEmail')}</Text>
  return (
    <Group gap="sm">
      <Button variant="default" loading={sending.isPending} onClick={() => sending.mutate(username)}>
        {t('users.sendLink')}
      </Button>
      <Text size="sm" c="dimmed">
        {t('users.sendLinkText', { email })}
      </Text>
    </Group>
  )
}
