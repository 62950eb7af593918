import { createLocalities } from '../../areas/numbers/phone-numbers/localities/operations.ts'
import type { Locality } from '../../areas/numbers/phone-numbers/localities/rules.ts'
import type { SampleCompany } from './companies.ts'
import { textIn } from './desk.ts'
import { numberOf, numbersInStock, type Place, places } from './places.ts'
import type { BuiltCompany, Stage } from './tree.ts'

const cities: readonly Place[] = Object.values(places)

const localityOf = ({ city, prefix, country, region, lata, latitude, longitude }: Place): Locality => ({
  ...{ prefix, country, region, city, lata, latitude, longitude },
  rateCenter: city.toUpperCase(),
})

const ofCarrier = 20

/** Numbers that anybody may buy, and where they lie; an operator's own localities stay. */
export const stockNumbers = async ({ server, operator, masterId, counts }: Stage) => {
  const known = createLocalities(server.store)
  const rows = async function* () {
    yield cities.map(localityOf)
  }
  if (!(await known.areThere())) await known.replaceAll({ requestId: 'demo', authMethod: 'command' }, rows())
  for (const place of cities) {
    const numbers = Array.from({ length: numbersInStock }, (_, index) => numberOf(place, index))
    const path = `accounts/${masterId}/phone_numbers/collection`
    const state = { create_with_state: 'available' }
    // Local numbers cost nothing and have no emergency address, those of a carrier have both.
    await operator.put(path, { numbers: numbers.slice(0, ofCarrier), ...state, carrier_name: 'bandwidth2' })
    await operator.put(path, { numbers: numbers.slice(ofCarrier), ...state })
    counts.numbers += numbers.length
  }
}

/** Which numbers of the stock were given away so far. */
const createShelf = () => {
  const taken = new Map<Place, number>()
  return (place: Place) => {
    const index = taken.get(place) ?? 0
    taken.set(place, index + 1)
    return numberOf(place, index)
  }
}

const pathOf = (account: string, number: string) => `${account}/phone_numbers/${encodeURIComponent(number)}`

const addressOf = ({ name, address }: SampleCompany) => {
  const [street_address, locality, region, postal_code] = address ?? []
  return address
    ? { e911: { caller_name: name.slice(0, 30), street_address, locality, region, postal_code } }
    : {}
}

const buy = async (built: BuiltCompany, number: string, isMain: boolean) => {
  const { company, path, seller } = built
  await seller.admin.put(`${pathOf(path, number)}/activate`, {})
  if (!isMain) return
  const display_name = company.slug.replace(/-/g, ' ').slice(0, 15).toUpperCase()
  await seller.admin.patch(pathOf(path, number), { cnam: { display_name }, ...addressOf(company) })
}

/** Every company takes its numbers from the stock. */
export const buyNumbers = async (companies: readonly BuiltCompany[]): Promise<BuiltCompany[]> => {
  const next = createShelf()
  const withNumbers: BuiltCompany[] = []
  for (const built of companies) {
    const { place, numbers: count } = built.company
    const numbers = Array.from({ length: count }, () => next(place))
    for (const [index, number] of numbers.entries()) await buy(built, number, index === 0)
    withNumbers.push({ ...built, calling: { ...built.calling, numbers } })
  }
  return withNumbers
}

// Beyond what the stock has of a place.
const ported = numbersInStock + 10

/** Numbers on their way: reserved, coming from another carrier, given back. */
export const moveNumbers = async ({ counts }: Stage, companies: readonly BuiltCompany[]) => {
  for (const [index, built] of companies.entries()) {
    const { company, path, seller } = built
    if (index % 3 === 0) {
      const reserved = numberOf(company.place, numbersInStock - 1 - index)
      await seller.admin.put(`${pathOf(path, reserved)}/reserve`, {})
    }
    if (index % 5 === 1) {
      await seller.admin.put(`${pathOf(path, numberOf(company.place, ported + index))}/port`, {
        porting: { service_provider: 'Old Carrier', billing_name: company.name },
      })
      counts.numbers += 1
    }
    const spare = built.calling.numbers.at(-1)
    if (company.numbers > 3 && spare !== undefined) await seller.admin.delete(pathOf(path, spare))
  }
}

/** What calls out there cost. */
export const putRates = async ({ operator }: Stage) => {
  const rates: readonly [prefix: number, cost: number, name: string, description: string][] = [
    [1, 0.012, 'US_CA', 'United States and Canada'],
    [1415, 0.009, 'US_SF', 'San Francisco'],
    [49, 0.019, 'DE', 'Germany'],
    [4915, 0.085, 'DE_MOBILE', 'Germany, mobile'],
    [44, 0.024, 'GB', 'United Kingdom'],
    [33, 0.024, 'FR', 'France'],
    [39, 0.028, 'IT', 'Italy'],
    [81, 0.065, 'JP', 'Japan'],
    [971, 0.19, 'AE', 'United Arab Emirates'],
  ]
  for (const [prefix, rate_cost, rate_name, description] of rates) {
    const rate = { prefix, rate_cost, rate_name, description, internal_rate_cost: rate_cost / 2 }
    textIn(await operator.put('rates', { ...rate, direction: ['outbound'] }), 'id')
  }
}
