import { Progress, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { showNumber } from '../lib/amounts.ts'
import { measuredRate, type Sample, withSample } from '../lib/pace.ts'
import { showSpan } from '../lib/times.ts'

const useRate = (done: number) => {
  const [samples, setSamples] = useState<readonly Sample[]>([])
  useEffect(() => setSamples((before) => withSample(before, { at: performance.now(), done })), [done])
  return measuredRate(samples)
}

const showCount = (value: number) => showNumber(value, { maximumFractionDigits: value < 10 ? 1 : 0 })

/** How far long work is, how fast it goes, and how long the rest takes. */
export const WorkProgress = ({
  label,
  done,
  total,
  words,
  isRunning,
  hasFailures = false,
  hasBar = true,
  knownRate,
  amount = showCount,
}: {
  label: string
  done: number
  /** Undefined if it is not known: then there is no bar. */
  total: number | undefined
  /** What is done, in words: `3 of 7 rows`, `1 failed`. */
  words: readonly string[]
  isRunning: boolean
  hasFailures?: boolean
  /** Without it, only the remaining time is added to the words: in a row of a list. */
  hasBar?: boolean
  /** The amount of a second as the server knows it, used until this page has measured it. */
  knownRate?: number | undefined
  /** Shows the amount of a second or a minute. */
  amount?: (value: number) => string
}) => {
  const { t } = useTranslation()
  const rate = useRate(done) ?? knownRate
  const speed =
    rate !== undefined && rate > 0
      ? rate < 1
        ? t('progress.perMinute', { amount: amount(rate * 60) })
        : t('progress.perSecond', { amount: amount(rate) })
      : undefined
  const left =
    rate !== undefined && rate > 0 && total !== undefined
      ? t('progress.left', { time: showSpan((total - done) / rate) })
      : undefined
  const text = [
    ...words,
    ...(isRunning && hasBar && speed ? [speed] : []),
    ...(isRunning && left ? [left] : []),
  ].join(' · ')
  return (
    <Stack gap={4}>
      {hasBar && total !== undefined && (
        <Progress.Root size="lg">
          <Progress.Section
            value={total === 0 ? 100 : (done / total) * 100}
            color={hasFailures ? 'orange' : 'green'}
            striped={isRunning}
            animated={isRunning}
            aria-label={label}
            aria-valuetext={text}
            withAria
          />
        </Progress.Root>
      )}
      <Text size="sm" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {text}
      </Text>
    </Stack>
  )
}
