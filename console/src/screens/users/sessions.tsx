import { CrosspointError, forgetUserSecondFactor } from '@crosspoint/client'
import { Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import type { SignInSubject } from './sign-in-subject.ts'

interface Ending {
  action: string
  text: string
  title: string
  consequence: string
  done: string
  /** Said where there is nothing to end. */
  nothing?: string
  run: () => Promise<unknown>
}

/** Something that ends for the user, after a question. */
const Ending = ({ action, text, title, consequence, done, nothing, run }: Ending) => {
  const [opened, { open, close }] = useDisclosure(false)
  const ending = useChange({
    touches: ['user', 'login_attempt'],
    run,
    done: () => {
      close()
      tellDone(done)
    },
    failed: (error) => {
      close()
      if (nothing === undefined || !(error instanceof CrosspointError) || error.status !== 404) return false
      tellDone(nothing)
      return true
    },
  })
  return (
    <Group gap="sm">
      <Button variant="default" onClick={open}>
        {action}
      </Button>
      <Text size="sm" c="dimmed">
        {text}
      </Text>
      <Confirm
        opened={opened}
        title={title}
        text={consequence}
        action={action}
        busy={ending.isPending}
        onConfirm={() => ending.mutate(undefined)}
        onClose={close}
      />
    </Group>
  )
}

/** For users who lost the authenticator app and the recovery codes. */
export const SecondFactor = ({ user: { userId, name } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return (
    <Ending
      action={t('users.forgetFactor')}
      text={t('users.forgetFactorText')}
      title={t('users.forgetFactorTitle')}
      consequence={t('users.forgetFactorConsequence', { name })}
      done={t('users.factorForgotten')}
      nothing={t('users.noFactor', { name })}
      run={() => forgetUserSecondFactor({ ...api, path: { account_id: accountId, user_id: userId } })}
    />
  )
}

/** For users who lost a signed-in device. */
export const Sessions = ({ user: { userId, name } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return (
    <Ending
      action={t('users.endSessions')}
      text={t('users.endSessionsText')}
      title={t('users.endSessionsTitle')}
      consequence={t('users.endSessionsConsequence', { name })}
      done={t('users.sessionsEnded')}
      run={() =>
        crosspoint.request({
          method: 'PUT',
          path: `/v2/accounts/${accountId}/users/${userId}/auth`,
          data: {},
          envelope: { action: 'reset_signature_secret' },
        })
      }
    />
  )
}
