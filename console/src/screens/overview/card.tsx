import { CrosspointError } from '@crosspoint/client'
import { Group, Loader, Paper, Stack, Text, Title } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { FailureNote } from '../../lib/failures.tsx'
import { gregorianOf, showClock } from '../../lib/times.ts'
import { ToScreen } from '../../parts/link.tsx'

const isForbidden = (error: unknown) => error instanceof CrosspointError && error.status === 403

/** When what is shown was so. */
const AsOf = ({ at }: { at: number }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return (
    <Text size="xs" c="dimmed">
      {t('overview.asOf', { time: showClock(gregorianOf(new Date(at)), timezone) })}
    </Text>
  )
}

interface FigureCard<Answer> {
  title: string
  /** The screen with details, such as `money`. */
  screen: string
  found: UseQueryResult<Answer>
  children: (answer: Answer) => ReactNode
}

/** A figure, and the way to what is behind it. Who may not know it does not see the card. */
export const FigureCard = <Answer,>({ title, screen, found, children }: FigureCard<Answer>) => {
  const { t } = useTranslation()
  const to = useTo()
  const { data, error, refetch, dataUpdatedAt } = found
  if (isForbidden(error)) return null
  return (
    <Paper component="section" aria-label={title} withBorder p="md" h="100%">
      <Stack gap="xs" h="100%" justify="space-between">
        <Title order={2} size="h5">
          <ToScreen to={to(screen)}>{title}</ToScreen>
        </Title>
        {error && data === undefined ? <FailureNote error={error} again={refetch} /> : null}
        {data === undefined && !error ? (
          <Group mih={56}>
            <Loader size="sm" role="status" aria-label={t('loading')} />
          </Group>
        ) : null}
        {data !== undefined && children(data)}
        {data !== undefined && <AsOf at={dataUpdatedAt} />}
      </Stack>
    </Paper>
  )
}

/** The figure itself, and what it is of. */
export const Figure = ({ value, unit }: { value: string; unit?: string }) => (
  <div>
    <Text fz={28} fw={600} lh={1.2}>
      {value}
    </Text>
    {unit !== undefined && (
      <Text size="sm" c="dimmed">
        {unit}
      </Text>
    )}
  </div>
)
