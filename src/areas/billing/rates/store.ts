import { type ChangeSet, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import { kind, type RecordOf, recordColumns } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { placeholders } from '../../../storage/table.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import { leadingParts } from './rules.ts'
import type { Rate } from './schema.ts'

const rateKind = kind<Rate, object>('rate')

export type RateStored = RecordOf<typeof rateKind>

// Lists are padded to a fixed length, so that there are few different statements.
const partsAtOnce = 15
const idsAtOnce = 100

const padded = (values: readonly string[], length: number) => [
  ...values,
  ...Array<string>(length - values.length).fill(values.at(-1) ?? ''),
]

// The index by owner finds the rates of a ratedeck: the ratedeck owns its rates, in the order of their prefixes.
const byPrefixes = `SELECT ${recordColumns()} FROM records
  WHERE account_id = $1 AND kind = '${rateKind}' AND owner_id <> '' AND owner_id = $2
    AND sort_key IN (${placeholders(partsAtOnce, 3)})
  ORDER BY sort_key, id`

// CROSS makes SQLite start with the pairs.
const byPairs = ({ words }: Store) => `SELECT ${recordColumns('r')}
  FROM ${words.pairs('$1')} CROSS JOIN records r
  WHERE r.account_id = $2 AND r.kind = '${rateKind}' AND r.owner_id <> '' AND r.owner_id = pairs.a
    AND r.sort_key = pairs.b`

const byIds = `SELECT ${recordColumns()} FROM records
  WHERE account_id = $1 AND kind = '${rateKind}' AND id IN (${placeholders(idsAtOnce, 2)})`

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

  const withPrefixes = async (ratedeckId: string, prefixes: readonly string[]): Promise<RateStored[]> => {
    const found: RateStored[] = []
    for (let from = 0; from < prefixes.length; from += partsAtOnce) {
      const some = padded(prefixes.slice(from, from + partsAtOnce), partsAtOnce)
      found.push(
        ...store.records.of(rateKind, await store.all(byPrefixes, [systemScope, ratedeckId, ...some])),
      )
    }
    return found
  }

  /** The stored rates with these ids. */
  const several = async (ids: readonly string[]): Promise<Map<string, RateStored>> => {
    const found = new Map<string, RateStored>()
    for (let from = 0; from < ids.length; from += idsAtOnce) {
      const some = padded(ids.slice(from, from + idsAtOnce), idsAtOnce)
      for (const rate of store.records.of(rateKind, await store.all(byIds, [systemScope, ...some])))
        found.set(rate.id, rate)
    }
    return found
  }

  const contentOf = ({ doc }: Importer) => ({ doc: doc as Rate, hidden: {} })

  return {
    ...collection,

    adopting: {
      ...importingInto(collection, contentOf),

      /** Reads existing rates of a batch together: ratedecks have millions. */
      async putMany(set: ChangeSet, arrivals: readonly Importer[]): Promise<boolean[]> {
        const stored = await several(arrivals.map(({ id }) => id))
        const into = importingInto({ ...collection, find: async (_scope, id) => stored.get(id) }, contentOf)
        const put: boolean[] = []
        for (const arrival of arrivals) put.push(await into.put(set, arrival))
        return put
      },
    },

    /** The rates whose prefix the digits begin with, in one query. */
    leadingTo: (ratedeckId: string, digits: string) => withPrefixes(ratedeckId, leadingParts(digits)),

    /** Reads the rates of these ratedecks and prefixes. Returns a function for the rates of one pair. */
    async ofPairs(wanted: readonly (readonly [ratedeckId: string, prefix: string])[]) {
      const keyOf = (deck: string, prefix: string) => `${deck}/${prefix}`
      const pairs = [...new Map(wanted.map((pair) => [keyOf(...pair), pair])).values()]
      const rows =
        pairs.length > 0 ? await store.scan(byPairs(store), [JSON.stringify(pairs), systemScope]) : []
      const found = Map.groupBy(store.records.of(rateKind, rows), ({ ownerId, sortKey }) =>
        keyOf(ownerId, sortKey),
      )
      return (deck: string, prefix: string) => found.get(keyOf(deck, prefix)) ?? []
    },

    withPrefixes,

    several,

    async decks(): Promise<string[]> {
      return (await store.all<{ id: string }>(allDecks, [systemScope])).map(({ id }) => id)
    },
  }
}
