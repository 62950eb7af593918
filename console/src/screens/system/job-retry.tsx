import { retryJob, type Work } from '@crosspoint/client'
import { Button, type ButtonProps } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { tellDone } from '../../lib/toasts.tsx'

/** Runs a waiting job now. The server keeps nothing to repeat of a job that has ended. */
export const JobRetry = ({ job: { kind, id, state }, ...rest }: ButtonProps & { job: Work }) => {
  const { t } = useTranslation()
  const retrying = useChange({
    touches: ['work'],
    run: () => retryJob({ ...api, path: { kind, id } }),
    done: () => tellDone(t('system.triedNow')),
  })
  if (state !== 'waiting') return null
  return (
    <Button
      variant="default"
      {...rest}
      loading={retrying.isPending}
      onClick={() => retrying.mutate(undefined)}
      title={t('system.tryNamed', { kind, id })}
    >
      {t('system.try')}
    </Button>
  )
}
