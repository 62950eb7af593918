import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { endOfDay, startOfDay } from './days.ts'

/** The query of a period; empty for the default range of the server, one month. */
export interface Window {
  created_from?: string
  created_to?: string
}

/** The days of the account that a list is of. */
export const usePeriod = () => {
  const { timezone } = usePlace()
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const begins = startOfDay(from, timezone)
  const ends = endOfDay(to, timezone)
  const window: Window = {
    ...(begins === undefined ? {} : { created_from: String(begins) }),
    ...(ends === undefined ? {} : { created_to: String(ends) }),
  }
  return { window, from, to, setFrom, setTo }
}

export const PeriodFields = ({ period }: { period: ReturnType<typeof usePeriod> }) => {
  const { t } = useTranslation()
  const { from, to, setFrom, setTo } = period
  return (
    <Group gap="sm">
      <TextInput
        type="date"
        label={t('money.from')}
        value={from}
        onChange={({ currentTarget }) => setFrom(currentTarget.value)}
      />
      <TextInput
        type="date"
        label={t('money.to')}
        value={to}
        onChange={({ currentTarget }) => setTo(currentTarget.value)}
      />
    </Group>
  )
}
