import { Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { startActing } from '../../lib/acting.ts'
import { useChange } from '../../lib/answers.ts'
import { crosspoint } from '../../lib/api.ts'
import { Confirm } from '../../parts/confirm.tsx'
import type { SignInSubject } from './sign-in-subject.ts'

/** Sees what the user sees, with the user's rights. Admins of the master account may, for other accounts. */
export const ActAs = ({ user: { userId, name } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId, actsForMaster, isOwn } = usePlace()
  const [opened, { open, close }] = useDisclosure(false)
  const acting = useChange({
    touches: [],
    run: () =>
      crosspoint.request({
        method: 'PUT',
        path: `/v2/accounts/${accountId}/users/${userId}/user_auth`,
        data: {},
        envelope: { action: 'impersonate_user' },
      }),
    done: ({ envelope }) => startActing(envelope),
  })
  if (!actsForMaster || isOwn) return null
  return (
    <Group gap="sm">
      <Button variant="default" onClick={open}>
        {t('users.actAs')}
      </Button>
      <Text size="sm" c="dimmed">
        {t('users.actAsText')}
      </Text>
      <Confirm
        opened={opened}
        title={t('users.actAsTitle', { name })}
        text={t('users.actAsConsequence', { name })}
        action={t('users.actAs')}
        isDangerous={false}
        busy={acting.isPending}
        onConfirm={() => acting.mutate(undefined)}
        onClose={close}
      />
    </Group>
  )
}
