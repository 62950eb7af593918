import { CrosspointError } from '@crosspoint/client'
import { Box, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useTo } from '../../frame/place.tsx'
import { FailureNote } from '../../lib/failures.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { useReadAt } from './as-of.tsx'

const isForbidden = (error: unknown) => error instanceof CrosspointError && error.status === 403

/** Some data that was read, or the reason why not. */
export interface Found<Answer> {
  data: Answer | undefined
  error: unknown
  refetch: () => void
  dataUpdatedAt: number
}

interface FigureCard<Answer> {
  title: string
  Icon?: LucideIcon
  /** The screen with details, such as `money`: the whole card leads there. */
  screen?: string
  found: Found<Answer>
  /** The height of the content. */
  height?: number
  children: (answer: Answer) => ReactNode
}

const figureHeight = 58

/** A figure and its meaning. Callers who may not read it do not see the card. */
export const FigureCard = <Answer,>(card: FigureCard<Answer>) => {
  const { title, Icon, screen, found, height = figureHeight, children } = card
  const { t } = useTranslation()
  const to = useTo()
  const { data, error, refetch, dataUpdatedAt } = found
  useReadAt(title, dataUpdatedAt)
  if (isForbidden(error)) return null
  return (
    <Paper
      component="section"
      aria-label={title}
      withBorder
      p={{ base: 'sm', sm: 'md' }}
      className="figure-card"
    >
      <Stack gap={6}>
        <Group gap={8} wrap="nowrap" c="dimmed">
          {Icon && (
            <Box visibleFrom="sm" lh={0}>
              <Icon size={16} aria-hidden />
            </Box>
          )}
          <Title order={2} fz={{ base: 'xs', sm: 'sm' }} fw={500}>
            {screen === undefined ? title : <ToScreen to={to(screen)}>{title}</ToScreen>}
          </Title>
        </Group>
        {error && data === undefined ? <FailureNote error={error} again={refetch} /> : null}
        {data === undefined && !error && (
          <div role="status" aria-label={t('loading')}>
            <Skeleton h={height} w={height > figureHeight ? '100%' : '60%'} />
          </div>
        )}
        {data !== undefined && (
          <div className="figure-content" style={{ minHeight: height }}>
            {children(data)}
          </div>
        )}
      </Stack>
    </Paper>
  )
}

interface Figure {
  value: string
  unit?: string | undefined
  isBad?: boolean
}

/** The figure itself, and below it what it is of. */
export const Figure = ({ value, unit, isBad = false }: Figure) => (
  <>
    <Text fz={{ base: 20, sm: 26 }} fw={600} lh={1.3} {...(isBad ? { c: 'var(--mantine-color-error)' } : {})}>
      {value}
    </Text>
    {unit !== undefined && (
      <Text size="sm" c="dimmed" dir="auto" truncate>
        {unit}
      </Text>
    )}
  </>
)
