import { Alert } from '@mantine/core'
import { WifiOff } from 'lucide-react'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { readAgain } from '../lib/answers.ts'
import { waiting } from '../lib/waiting.ts'

/** Shows that the server is unreachable or throttles. When it is back, all data is read again. */
export const ConnectionNote = () => {
  const { t } = useTranslation()
  const why = waiting.use()
  useEffect(() => {
    if (why !== 'unreachable') return
    return () => void readAgain()
  }, [why])
  if (why === undefined || why === 'under_way') return null
  return (
    <Alert
      color={why === 'unreachable' ? 'red' : 'yellow'}
      icon={<WifiOff aria-hidden />}
      mb="md"
      role="status"
    >
      {t(`frame.waiting.${why}`)}
    </Alert>
  )
}
