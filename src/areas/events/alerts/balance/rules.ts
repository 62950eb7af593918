import { memberOf } from '../../../../lib/member.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'

/** While a balance stays low, somebody is told of it once in this time. */
export const pauseMs = 24 * 3_600_000

const usualThresholdUnits = 50_000

/** What of an account says whom to tell, and when. */
export interface NoticedDoc {
  name: string
  notifications?: unknown
}

interface NoticeDoc {
  enabled?: unknown
  threshold?: unknown
}

const noticeOf = (doc: NoticedDoc | undefined): NoticeDoc => {
  const notice = memberOf(doc?.notifications, 'low_balance')
  return { enabled: memberOf(notice, 'enabled'), threshold: memberOf(notice, 'threshold') }
}

export const wantsMail = (doc: NoticedDoc) => noticeOf(doc).enabled === true

/** Units at which the balance of an account is low; undefined when it has not said, and wants no mail either. */
export const noticeThreshold = (doc: NoticedDoc): number | undefined => {
  const { threshold } = noticeOf(doc)
  if (typeof threshold === 'number' && decimalsOf(threshold) !== undefined) return unitsOfDollars(threshold)
  return wantsMail(doc) ? usualThresholdUnits : undefined
}

export const sameNotice = (a: NoticedDoc | undefined, b: NoticedDoc) =>
  JSON.stringify(noticeOf(a)) === JSON.stringify(noticeOf(b))

/** Money as people write it: at least cents. */
export const inDollars = (units: number) => {
  const [whole = '0', fraction = ''] = String(dollarsOfUnits(Math.abs(units))).split('.')
  return `${units < 0 ? '-' : ''}$${whole}.${fraction.padEnd(2, '0')}`
}
