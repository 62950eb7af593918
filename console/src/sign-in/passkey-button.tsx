import { Alert, Button } from '@mantine/core'
import { KeyRound } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../lib/answers.ts'
import { FailureNote } from '../lib/failures.tsx'
import { NoPasskey } from '../lib/passkeys.ts'

/** An action with a passkey, and the message if none was shown. */
export const PasskeyButton = <Answer,>({
  run,
  onDone,
  variant,
}: {
  run: () => Promise<Answer>
  onDone: (answer: Answer) => void
  variant?: string
}) => {
  const { t } = useTranslation()
  const using = useChange({ touches: [], run, done: onDone, failed: () => true })
  return (
    <>
      {using.error instanceof NoPasskey && (
        <Alert color="gray" role="alert">
          {t('signIn.noPasskey')}
        </Alert>
      )}
      {using.error && !(using.error instanceof NoPasskey) && <FailureNote error={using.error} />}
      <Button
        type="button"
        variant={variant}
        leftSection={<KeyRound size={16} aria-hidden />}
        loading={using.isPending}
        onClick={() => using.mutate(undefined)}
      >
        {t('signIn.usePasskey')}
      </Button>
    </>
  )
}
