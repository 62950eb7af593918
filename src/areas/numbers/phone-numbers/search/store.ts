import type { Json } from '../../../../lib/json.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CarrierModule, Offer } from '../carriers/carrier.ts'

/** A stored result. Lists of own numbers are compact. */
interface Packed {
  /** Carrier, state, and numbers separated by spaces. */
  stock: [CarrierModule, Offer['state'], string][]
  foreign: [string, CarrierModule, Json][]
}

const isForeign = ({ state }: Offer) => state === 'discovery'

const pack = (offers: readonly Offer[]) => {
  const lists = new Map<string, { carrier: CarrierModule; state: Offer['state']; numbers: string[] }>()
  const foreign: Packed['foreign'] = []
  for (const offer of offers) {
    const { number, carrier, state, carrierData } = offer
    if (isForeign(offer)) {
      foreign.push([number, carrier, carrierData ?? {}])
      continue
    }
    const key = `${carrier}/${state}`
    const list = lists.get(key) ?? { carrier, state, numbers: [] }
    list.numbers.push(number)
    lists.set(key, list)
  }
  const stock = [...lists.values()].map(({ carrier, state, numbers }) => [carrier, state, numbers.join(' ')])
  return JSON.stringify({ stock, foreign })
}

const unpack = (text: string): Offer[] => {
  const { stock, foreign }: Packed = JSON.parse(text)
  return [
    ...stock.flatMap(([carrier, state, numbers]) =>
      numbers.split(' ').map((number): Offer => ({ number, state, carrier })),
    ),
    ...foreign.map(
      ([number, carrier, carrierData]): Offer => ({
        number,
        state: 'discovery',
        carrier,
        carrierData,
      }),
    ),
  ]
}

/** Stored search results: another process may serve the next page or the purchase. */
export const createSearchRows = (store: Store) => ({
  put: (accountId: string, id: string, foundAt: number, offers: readonly Offer[]) =>
    store.writeUnrecorded([
      {
        sql: `INSERT INTO number_searches (account_id, id, found_at, offers) VALUES ($1, $2, $3, $4)
          ON CONFLICT (account_id, id) DO UPDATE SET found_at = excluded.found_at, offers = excluded.offers`,
        params: [accountId, id, foundAt, pack(offers)],
      },
    ]),

  /** Unsorted; undefined if older than `since`. */
  async find(accountId: string, id: string, since: number): Promise<Offer[] | undefined> {
    const [row] = await store.all<{ offers: string }>(
      'SELECT offers FROM number_searches WHERE account_id = $1 AND id = $2 AND found_at >= $3',
      [accountId, id, since],
    )
    return row && unpack(row.offers)
  },

  /** The latest result with an external number. Read off the event loop: results are long. */
  async findWith(accountId: string, number: string, since: number): Promise<Offer[]> {
    const [row] = await store.scan<{ offers: string }>(
      `SELECT offers FROM number_searches WHERE account_id = $1 AND found_at >= $2 AND offers LIKE $3
        ORDER BY found_at DESC LIMIT 1`,
      [accountId, since, `%"${number}"%`],
    )
    return row ? unpack(row.offers) : []
  },
})
