import { isE164, normalizeNumber } from '../../../../lib/e164.ts'
import { failure } from '../../../../lib/failure.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { numberFault } from '../failures.ts'
import { numberInventorySettings } from '../settings.ts'
import type { Carrier, Offer, Reply, Request } from './carrier.ts'
import { isBillable, maximalPrefixLengthOf } from './names.ts'
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

// Whoever takes the address out of the settings has open orders wait until there is one again.
const notConfigured: Reply = {
  outcome: 'unknown',
  reason: 'no inventory service is configured',
  isDown: true,
}

// What a service answers that takes no numbers back: they stay with it, and it is not asked again.
const knowsNoReleases = new Set([404, 405, 501])

/** Only an answer tells that something was not done. */
const replyOf = (error: unknown): Reply => {
  if (!(error instanceof PhonebookError)) throw error
  const { isAnswer, isDown, message } = error
  return isAnswer ? { outcome: 'refused', reason: message } : { outcome: 'unknown', reason: message, isDown }
}

/** Numbers of an inventory service that the operator runs or rents. */
export const otherCarrier = (phonebook: Phonebook, settings: Settings): Carrier => {
  const place = async () => {
    const { default_country: country, endpoints } = await settings.of(numberInventorySettings)
    return { url: await phonebook.url(), country, gateways: gatewaysOf(endpoints) }
  }

  const order = async ({ number, carrierData, key, signal }: Request): Promise<Reply> => {
    const { url, country, gateways } = await place()
    if (url === undefined) return notConfigured
    try {
      const told = await phonebook.order(url, country, { number, gateways, key, signal })
      return { outcome: 'accepted', carrierData: told ?? carrierData }
    } catch (error) {
      return replyOf(error)
    }
  }

  const release = async ({ number, carrierData, key, signal }: Request): Promise<Reply> => {
    const { url, country } = await place()
    if (url === undefined) return notConfigured
    try {
      await phonebook.release(url, country, { number, key, signal })
    } catch (error) {
      const isUnheard = error instanceof PhonebookError && knowsNoReleases.has(error.status ?? 0)
      if (!isUnheard) return replyOf(error)
    }
    return { outcome: 'accepted', carrierData }
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

    supplier: {
      async assertReachable() {
        const { url } = await place()
        if (url === undefined) throw failure(numberFault, { message: 'missing_provider_url' })
      },
      order,
      release,
    },

    async check(numbers) {
      const { url, country } = await place()
      return url === undefined ? new Map() : phonebook.check(url, country, numbers)
    },
  }
}
