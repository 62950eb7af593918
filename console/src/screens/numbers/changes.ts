import {
  activatePhoneNumbers,
  createPhoneNumbers,
  deletePhoneNumbers,
  reservePhoneNumber,
  updatePhoneNumbers,
} from '@crosspoint/client'
import i18next from 'i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { NotAgreed, withConsent } from '../../lib/consent.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type NumberResult, refusedResult, resultsOf } from './outcome.tsx'

/** What may be done with several numbers at once. */
export type Wish =
  | { to: 'create'; state: string }
  | { to: 'reserve' }
  | { to: 'activate' | 'release' | 'remove' }
  | { to: 'change'; fields: JsonObject }

/** Data that is out of date after numbers changed owners, because numbers are billed. */
export const touchedByNumbers = ['number', 'stock', 'ledger', 'services'] as const

const reserveEach = async (accountId: string, numbers: readonly string[]): Promise<NumberResult[]> => {
  const results: NumberResult[] = []
  for (const number of numbers) {
    try {
      const path = { account_id: accountId, phone_number: number }
      // Each request needs its own consent.
      const { data } = await withConsent(() => reservePhoneNumber({ ...api, path, body: { data: {} } }))
      results.push({ number, state: data.state })
    } catch (error) {
      const isUnwanted = error instanceof NotAgreed
      results.push(
        isUnwanted ? { number, refusal: i18next.t('numbers.notAgreed') } : refusedResult(number, error),
      )
    }
  }
  return results
}

const creationStates = ['in_service', 'reserved', 'available', 'aging', 'port_in'] as const

const send = (accountId: string, wish: Exclude<Wish, { to: 'reserve' }>, numbers: readonly string[]) => {
  const common = { ...api, path: { account_id: accountId } }
  const data = { numbers: [...numbers] }
  switch (wish.to) {
    case 'create': {
      const create_with_state = creationStates.find((state) => state === wish.state) ?? 'in_service'
      return createPhoneNumbers({ ...common, body: { data: { ...data, create_with_state } } })
    }
    case 'activate':
      return activatePhoneNumbers({ ...common, body: { data } })
    case 'release':
      return deletePhoneNumbers({ ...common, body: { data } })
    case 'remove':
      return deletePhoneNumbers({ ...common, body: { data }, query: { hard: true } })
    case 'change':
      return updatePhoneNumbers({ ...common, body: { data: { ...wish.fields, ...data } } })
  }
}

/** Changes several numbers; each can fail alone. Charges are accepted first. */
export const useNumbersChange = (done: (results: NumberResult[], wish: Wish) => void) => {
  const { accountId } = usePlace()
  return useChange({
    touches: touchedByNumbers,
    run: async ({ wish, numbers }: { wish: Wish; numbers: readonly string[] }) => {
      if (wish.to === 'reserve') return reserveEach(accountId, numbers)
      return resultsOf((await withConsent(() => send(accountId, wish, numbers))).data)
    },
    done: (results, { wish }) => done(results, wish),
  })
}
