import { getCarriersInfo } from '@crosspoint/client'
import { Alert } from '@mantine/core'
import { Info } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'

/** The carriers, and the states in which the user may add numbers. */
export const useCarriers = () => {
  const { accountId } = usePlace()
  const found = useAnswer(['account', accountId, 'carriers'], (signal) =>
    getCarriersInfo({ ...api, path: { account_id: accountId }, signal }),
  )
  return { carriers: found.data?.data, error: found.error, again: found.refetch }
}

/** Explains why the user cannot add or change numbers. */
export const RightsNote = () => {
  const { t } = useTranslation()
  const { carriers } = useCarriers()
  if (!carriers || carriers.usable_creation_states.length > 0) return null
  return (
    <Alert icon={<Info aria-hidden />} title={t('numbers.noAdditionsTitle')}>
      {t('numbers.noAdditions')}
    </Alert>
  )
}
