import type { Json } from '../../../../lib/json.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CarrierModule, Offer } from '../carriers/carrier.ts'

type StoredOffer = [number: string, state: Offer['state'], carrier: CarrierModule, carrierData?: Json]

const pack = (offers: readonly Offer[]) =>
  JSON.stringify(
    offers.map(
      ({ number, state, carrier, carrierData }): StoredOffer =>
        carrierData ? [number, state, carrier, carrierData] : [number, state, carrier],
    ),
  )

const unpack = (text: string): Offer[] => {
  const stored: StoredOffer[] | object = JSON.parse(text)
  // Earlier versions stored an object. For the hour that it is there after an upgrade, it counts as expired.
  if (!Array.isArray(stored)) return []
  return stored.map(([number, state, carrier, carrierData]: StoredOffer) => ({
    number,
    state,
    carrier,
    ...(carrierData ? { carrierData } : {}),
  }))
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

  /** Undefined if older than `since`. */
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
      [accountId, since, `%["${number}","discovery"%`],
    )
    return row ? unpack(row.offers) : []
  },
})
