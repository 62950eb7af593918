import { InvalidArgumentError } from 'commander'
import { gregorianOfUnix } from '../../lib/gregorian.ts'

const days = /^\d{4}-\d{2}-\d{2}$/

/** Gregorian seconds of a moment as people write it; a day alone begins, or ends, at midnight of this machine's zone. */
const momentIn = (text: string, ofDay: string) => {
  const at = new Date(days.test(text) ? `${text}T${ofDay}` : text).getTime()
  if (Number.isNaN(at))
    throw new InvalidArgumentError('A time is written as 2026-01-31 or 2026-01-31T13:45:00Z.')
  return gregorianOfUnix(at / 1000)
}

export const beginningIn = (text: string) => momentIn(text, '00:00:00')
export const endIn = (text: string) => momentIn(text, '23:59:59')
