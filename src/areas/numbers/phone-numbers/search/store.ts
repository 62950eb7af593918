import type { Json } from '../../../../lib/json.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CarrierModule, Offer } from '../carriers/carrier.ts'

/** A result as it is kept: long lists of the own stock as short as they can be, foreign numbers with their data. */
interface Packed {
  /** Carrier, state, and the numbers with a space between them. */
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

// Numbers asked for at once: one text to prepare.
const together = 100
const marks = Array.from({ length: together }, (_, index) => `$${index + 1}`).join(', ')

/**
 * Results of searches for as long as one may go on from them. They lie in the store, so that the next page, and the
 * purchase of what was found, may come to another process.
 */
export const createSearchRows = (store: Store) => ({
  put: (accountId: string, id: string, foundAt: number, offers: readonly Offer[]) =>
    store.writeUnrecorded([
      {
        sql: `INSERT INTO number_searches (account_id, id, found_at, offers) VALUES ($1, $2, $3, $4)
          ON CONFLICT (account_id, id) DO UPDATE SET found_at = excluded.found_at, offers = excluded.offers`,
        params: [accountId, id, foundAt, pack(offers)],
      },
    ]),

  /** The result in no order, unless it is older than `since`. */
  async find(accountId: string, id: string, since: number): Promise<Offer[] | undefined> {
    const [row] = await store.all<{ offers: string }>(
      'SELECT offers FROM number_searches WHERE account_id = $1 AND id = $2 AND found_at >= $3',
      [accountId, id, since],
    )
    return row && unpack(row.offers)
  },

  /** The latest result of an account that has a foreign number in it. Read beside the event loop: results are long. */
  async findWith(accountId: string, number: string, since: number): Promise<Offer[]> {
    const [row] = await store.scan<{ offers: string }>(
      `SELECT offers FROM number_searches WHERE account_id = $1 AND found_at >= $2 AND offers LIKE $3
        ORDER BY found_at DESC LIMIT 1`,
      [accountId, since, `%"${number}"%`],
    )
    return row ? unpack(row.offers) : []
  },

  /** The states of those of these numbers that are in the store. */
  async states(numbers: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const states = new Map<string, string>()
    for (let at = 0; at < numbers.length; at += together) {
      const asked = numbers.slice(at, at + together)
      const padding = Array<string>(together - asked.length).fill('')
      const sql = `SELECT number, state FROM numbers WHERE number IN (${marks})`
      const found = await store.all<{ number: string; state: string }>(sql, [...asked, ...padding])
      for (const { number, state } of found) states.set(number, state)
    }
    return states
  },
})
