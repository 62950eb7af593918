import { normalizeNumber } from '../../../../lib/e164.ts'
import { failure } from '../../../../lib/failure.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { type Phonebook, PhonebookError } from '../carriers/phonebook.ts'
import { initFailed } from '../failures.ts'
import type { Localities } from '../localities/operations.ts'
import { phoneNumberSettings } from '../settings.ts'
import { cityNotFound, localityEntry } from './rules.ts'
import type { NumberLocality } from './schema.ts'

interface Deps {
  settings: Settings
  phonebook: Phonebook
  localities: Localities
}

/** Where numbers are: of the inventory service, when one is configured, else of what the operator has imported. */
export const createWhereabouts = ({ settings, phonebook, localities }: Deps) => ({
  /** Each number with what is known of its place. */
  async localityOf(texts: readonly string[]): Promise<Record<string, unknown>> {
    const numbers = texts.map(normalizeNumber)
    const url = await phonebook.localityUrl()
    if (url !== undefined) {
      try {
        return await phonebook.locality(url, numbers)
      } catch (error) {
        if (!(error instanceof PhonebookError)) throw error
        throw failure(initFailed, { data: 'number locality lookup failed' }, error)
      }
    }
    if (!(await localities.areThere())) throw failure(initFailed, { data: 'could not get locality url' })
    const places = await localities.ofMany(numbers)
    const entries = numbers.map((number): [string, NumberLocality] => [
      number,
      localityEntry(number, places.get(number)),
    ])
    return Object.fromEntries(entries)
  },

  /** Prefixes of the cities whose name begins so. */
  async cities(name: string): Promise<unknown> {
    const { default_country: country } = await settings.of(phoneNumberSettings)
    const url = await phonebook.cityUrl()
    if (url !== undefined) {
      try {
        return await phonebook.cities(url, country, name)
      } catch (error) {
        if (!(error instanceof PhonebookError)) throw error
        throw failure(initFailed, { data: error.answer }, error)
      }
    }
    if (!(await localities.areThere()))
      throw failure(initFailed, { data: 'Unable to acquire numbers missing carrier url' })
    const cities = await localities.cities(country, name)
    if (Object.keys(cities).length === 0) throw failure(initFailed, { data: cityNotFound })
    return cities
  },
})
