import { Modal, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { endSigningInAgain, signingInAgain } from '../lib/sign-in-again.ts'
import { SignInForm } from './sign-in.tsx'

/** The session has ended while somebody worked: the page below, with what was typed into it, waits. */
export const SignInAgain = () => {
  const { t } = useTranslation()
  const asked = signingInAgain.use()
  return (
    <Modal
      opened={asked !== undefined}
      onClose={endSigningInAgain}
      title={t('signIn.again')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Text size="sm" mb="md">
        {t('signIn.againText')}
      </Text>
      {asked && (
        <SignInForm
          account={asked.ended.login.account_name ?? asked.ended.accountId}
          onDone={endSigningInAgain}
        />
      )}
    </Modal>
  )
}
