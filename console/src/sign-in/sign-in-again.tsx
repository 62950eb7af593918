import type { Session } from '@crosspoint/client'
import { Button, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { signOut, whoIs } from '../lib/acting.ts'
import { crosspoint } from '../lib/api.ts'
import { endSigningInAgain, signingInAgain } from '../lib/sign-in-again.ts'
import { type FixedUser, SignInForm } from './sign-in.tsx'

/** Undefined for sessions of API keys, which have no user. */
const userOf = ({ accountId, login }: Session): FixedUser | undefined => {
  const username = login.user_info?.username
  if (typeof username !== 'string') return undefined
  return { username, accountId, account: login.account_name ?? accountId }
}

const leave = async () => {
  await signOut()
  location.assign('/')
}

/** The session has ended while somebody worked: the page below, with what was typed into it, waits for the same person. */
export const SignInAgain = () => {
  const { t } = useTranslation()
  const asked = signingInAgain.use()
  if (!asked) return null
  const { ended } = asked
  const fixed = userOf(ended)
  // What waits is not sent as anybody else: whoever came by another user's passkey begins at the beginning.
  const goOn = () =>
    whoIs(crosspoint.session()) === whoIs(ended) ? endSigningInAgain() : location.assign('/')
  return (
    <Modal
      opened
      onClose={endSigningInAgain}
      title={t('signIn.again')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Text size="sm" dir="auto">
          {fixed
            ? t('signIn.againAs', { username: fixed.username, account: fixed.account })
            : t('signIn.againText')}
        </Text>
        <SignInForm fixed={fixed} onDone={goOn} />
        <Button variant="subtle" size="compact-sm" onClick={() => void leave()}>
          {t('signIn.leaveInstead')}
        </Button>
      </Stack>
    </Modal>
  )
}
