import { Text } from '@mantine/core'
import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { gregorianOf, showClock } from '../../lib/times.ts'
import { Screen } from '../../parts/screen.tsx'

type Report = (name: string, at: number) => void

const ReportContext = createContext<Report>(() => {})

/** Reports to the screen when the data of one of its cards was read. */
export const useReadAt = (name: string, at: number) => {
  const report = use(ReportContext)
  useEffect(() => {
    if (at > 0) report(name, at)
  }, [report, name, at])
}

/** A screen of cards. It shows once when the oldest of their figures was read. */
export const FigureScreen = ({ title, children }: { title: string; children: ReactNode }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const [times, setTimes] = useState<Readonly<Record<string, number>>>({})
  const report = useCallback<Report>((name, at) => setTimes((before) => ({ ...before, [name]: at })), [])
  const oldest = Math.min(...Object.values(times))
  return (
    <Screen
      title={title}
      actions={
        <Text size="xs" c="dimmed">
          {Number.isFinite(oldest) &&
            t('overview.asOf', { time: showClock(gregorianOf(new Date(oldest)), timezone) })}
        </Text>
      }
    >
      <ReportContext value={report}>{children}</ReportContext>
    </Screen>
  )
}
