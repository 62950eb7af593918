import { checkWhitelabelDomains } from '@crosspoint/client'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject } from '../../lib/json.ts'

/** The DNS check of a sender's DKIM key. */
export interface KeyCheck {
  name: string
  expected: string
  actual: readonly string[]
  matches: boolean
  error?: string
}

export interface SenderCheck {
  id: string
  dkim?: KeyCheck
  spf?: { name: string; actual: readonly string[]; valid: boolean; permits?: boolean; error?: string }
}

const isSenderCheck = (value: unknown): value is SenderCheck =>
  isObject(value) && typeof value.id === 'string'

/** The last DNS check. It takes seconds, so it runs only when the user asks for it. */
export const useDnsCheck = () => {
  const { accountId } = usePlace()
  const found = useAnswer(
    ['dns', accountId],
    async (signal) => {
      const { data, metadata } = await checkWhitelabelDomains({
        ...api,
        path: { account_id: accountId },
        signal,
      })
      const senders = Array.isArray(metadata.senders) ? metadata.senders.filter(isSenderCheck) : []
      return { records: data, senders }
    },
    { enabled: false },
  )
  return {
    check: () => void found.refetch(),
    isChecking: found.isFetching,
    error: found.error,
    records: found.data?.records,
    senders: found.data?.senders,
    checkedAt: found.data ? new Date(found.dataUpdatedAt) : undefined,
  }
}
