import { type ChangeSet, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import { kind, type RecordOf, recordColumns } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { type ImportedRecord, importingInto } from '../../adoption.ts'
import { leadingParts } from './rules.ts'
import type { Rate } from './schema.ts'

const rateKind = kind<Rate, object>('rate')

export type RateStored = RecordOf<typeof rateKind>

// The index by owner finds the rates of a ratedeck: the ratedeck owns its rates, in the order of their prefixes.
const wherePrefix = `r.owner_id <> '' AND r.owner_id = pairs.a AND r.sort_key = pairs.b ORDER BY r.sort_key, r.id`
const whereId = 'r.id = pairs.b'

type Read = Store['all'] | Store['scan']

// Steps from ratedeck to ratedeck in the index: a ratedeck may contain millions of rates.
const firstDeck = (more: string) =>
  `SELECT min(owner_id) FROM records WHERE account_id = $1 AND kind = '${rateKind}' AND owner_id <> ''${more}`
const allDecks = `SELECT id FROM (WITH RECURSIVE decks(id) AS (
    SELECT (${firstDeck('')})
    UNION ALL
    SELECT (${firstDeck(' AND owner_id > decks.id')}) FROM decks WHERE decks.id IS NOT NULL)
  SELECT id FROM decks WHERE id IS NOT NULL) found ORDER BY id`

/** Rates belong to the system, not to accounts. */
export const createRateStore = (store: Store) => {
  const collection = createCollection<Rate, object>(store, {
    kind: rateKind,
    sortKey: ({ prefix }) => String(prefix),
    ownerId: ({ ratedeck_id: ratedeckId = '' }) => ratedeckId,
    row: (doc) => ({
      name: doc.rate_name,
      prefix: doc.prefix,
      carrier: doc.carrier,
      cost: doc.rate_cost,
      description: doc.description,
      surcharge: doc.rate_surcharge,
    }),
  })

  // CROSS makes SQLite start with the pairs.
  const readPairs = async (pairs: readonly (readonly [string, string])[], condition: string, read: Read) => {
    if (pairs.length === 0) return []
    const sql = `SELECT ${recordColumns('r')} FROM ${store.words.pairs('$1')} CROSS JOIN records r
      WHERE r.account_id = $2 AND r.kind = '${rateKind}' AND ${condition}`
    return store.records.of(rateKind, await read(sql, [JSON.stringify(pairs), systemScope]))
  }

  /** The stored rates with these ids. */
  const several = async (ids: readonly string[]): Promise<Map<string, RateStored>> => {
    const pairs = [...new Set(ids)].map((id) => [systemScope, id] as const)
    const found = await readPairs(pairs, whereId, store.all)
    return new Map(found.map((rate) => [rate.id, rate]))
  }

  /** Reads the rates of these ratedecks and prefixes. Returns a function for the rates of one pair. */
  const ofPairs = async (
    wanted: readonly (readonly [ratedeckId: string, prefix: string])[],
    read: Read = store.all,
  ) => {
    const keyOf = (deck: string, prefix: string) => `${deck}/${prefix}`
    const pairs = [...new Map(wanted.map((pair) => [keyOf(...pair), pair])).values()]
    const rates = await readPairs(pairs, wherePrefix, read)
    const found = Map.groupBy(rates, ({ ownerId, sortKey }) => keyOf(ownerId, sortKey))
    return (deck: string, prefix: string) => found.get(keyOf(deck, prefix)) ?? []
  }

  const contentOf = ({ doc }: ImportedRecord) => ({ doc: doc as Rate, hidden: {} })

  return {
    ...collection,

    adopting: {
      ...importingInto(collection, contentOf),

      /** Reads existing rates of a batch together: ratedecks have millions. */
      async putMany(set: ChangeSet, arrivals: readonly ImportedRecord[]): Promise<boolean[]> {
        const stored = await several(arrivals.map(({ id }) => id))
        const into = importingInto({ ...collection, find: async (_scope, id) => stored.get(id) }, contentOf)
        const put: boolean[] = []
        for (const arrival of arrivals) put.push(await into.put(set, arrival))
        return put
      },
    },

    ofPairs,

    several,

    /** The rates whose prefix the digits begin with, the shortest first. */
    async leadingTo(ratedeckId: string, digits: string) {
      const prefixes = leadingParts(digits)
      const found = await ofPairs(prefixes.map((prefix) => [ratedeckId, prefix]))
      return prefixes.flatMap((prefix) => found(ratedeckId, prefix))
    },

    async decks(): Promise<string[]> {
      return (await store.all<{ id: string }>(allDecks, [systemScope])).map(({ id }) => id)
    },
  }
}
