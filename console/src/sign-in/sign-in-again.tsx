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

/** The session ended while the user worked: the page below keeps the input and waits for the same user. */
export const SignInAgain = () => {
  const { t } = useTranslation()
  const asked = signingInAgain.use()
  if (!asked) return null
  const { ended } = asked
  const fixed = userOf(ended)
  // Pending requests are not sent as another user: a passkey of another user starts a new session.
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
