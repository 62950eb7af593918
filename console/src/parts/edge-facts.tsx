import { Alert, Stack, Text } from '@mantine/core'
import { Unplug } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../frame/place.tsx'
import { crosspoint } from '../lib/api.ts'
import { ButtonToScreen } from './link.tsx'

interface OfEdges {
  metadata?: Readonly<Record<string, unknown>>
}

/** Without edges the lists of registrations and of calls are empty. */
const NoEdge = () => {
  const { t } = useTranslation()
  const { actsForMaster } = usePlace()
  return (
    <Alert color="gray" icon={<Unplug aria-hidden />} title={t('edges.none')}>
      <Stack gap="sm" align="start">
        <Text size="sm">{t(actsForMaster ? 'edges.noneOperator' : 'edges.noneText')}</Text>
        {actsForMaster && (
          <ButtonToScreen
            to={`/a/${crosspoint.session()?.accountId}/system/settings/switch`}
            variant="default"
            size="xs"
          >
            {t('edges.connect')}
          </ButtonToScreen>
        )}
      </Stack>
    </Alert>
  )
}

/** A note about edges that did not answer, and what to show instead of an empty list, by the last answer that was noted. */
export const useEdgeFacts = (empty: ReactNode) => {
  const { t } = useTranslation()
  const [{ edges, unreachable }, setFacts] = useState<Readonly<Record<string, unknown>>>({})
  return {
    async noted<Answer extends OfEdges>(reading: Promise<Answer>) {
      const answer = await reading
      setFacts(answer.metadata ?? {})
      return answer
    },
    note: Array.isArray(unreachable) && (
      <Alert color="gray" icon={<Unplug aria-hidden />} title={t('edges.unreachable')}>
        {t('edges.unreachableText', { hosts: unreachable.join(', ') })}
      </Alert>
    ),
    empty: edges === 0 ? <NoEdge /> : empty,
  }
}
