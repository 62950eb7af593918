import { isE164, normalizeNumber } from '../../../lib/e164.ts'
import { failure } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { isBillable, maximalPrefixLengthOf } from '../../../settings/carrier-names.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Carrier, Offer } from './carrier.ts'
import { type Phonebook, PhonebookError } from './phonebook.ts'

const module = 'knm_other'

const gatewaysOf = (endpoints: string | string[] | undefined) =>
  endpoints === undefined ? [] : [endpoints].flat()

/** Only what was asked for: a service that answers with anything else is not believed. */
const offersOf = (found: Json, prefix: string): Offer[] =>
  Object.entries(found).flatMap(([text, data]) => {
    const number = normalizeNumber(text)
    if (!isE164(number) || !number.startsWith(prefix)) return []
    return [{ number, state: 'discovery', carrier: module, carrierData: isObject(data) ? data : {} }]
  })

/** Numbers of an inventory service that the operator runs or rents. */
export const otherCarrier = (phonebook: Phonebook, settings: Settings): Carrier => {
  const place = async () => {
    const { default_country: country, endpoints } = await settings.of('number_manager.other')
    return { url: await phonebook.url(), country, gateways: gatewaysOf(endpoints) }
  }

  return {
    module,
    maximalPrefixLength: maximalPrefixLengthOf(module),
    isBillable: isBillable(module),

    async search(search) {
      const { url } = await place()
      if (url === undefined) return []
      return offersOf(await phonebook.search(url, search), search.prefix).slice(0, search.quantity)
    },

    async order({ number, carrierData }) {
      const { url, country, gateways } = await place()
      if (url === undefined) throw failure('number_fault', { message: 'missing_provider_url' })
      try {
        return (await phonebook.order(url, country, number, gateways)) ?? carrierData
      } catch (error) {
        if (!(error instanceof PhonebookError)) throw error
        throw failure('number_fault', { message: 'fault by carrier', cause: number }, error)
      }
    },

    async check(numbers) {
      const { url, country } = await place()
      return url === undefined ? new Map() : phonebook.check(url, country, numbers)
    },
  }
}
