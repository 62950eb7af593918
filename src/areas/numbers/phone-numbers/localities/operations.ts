import { failure, invalidData } from '../../../../lib/failure.ts'
import { newId } from '../../../../lib/ids.ts'
import { type Author, ChangeSet, systemScope } from '../../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../../storage/collection.ts'
import type { Store } from '../../../../storage/store.ts'
import { type City, citiesOf, cityKey, type Locality, prefixesOf } from './rules.ts'
import { createLocalityRows } from './store.ts'

export type { City, Locality }

/** The valid rows, and the lengths of their prefixes. */
interface Edition {
  generation: string
  rows: number
  prefix_lengths: number[]
}

const localitiesKind = 'localities'
const rowsPerWrite = 1000

export type Localities = ReturnType<typeof createLocalities>

/** Places of numbers, imported by the operator. */
export const createLocalities = (store: Store) => {
  const rows = createLocalityRows(store)
  const editions = createCollection<Edition, object>(store, {
    kind: localitiesKind,
    sortKey: () => '',
    row: () => ({}),
  })
  const current = () => editions.find(systemScope, localitiesKind)

  const publish = async (author: Author, doc: Edition) => {
    const set = new ChangeSet(author)
    const place = { accountId: systemScope, id: localitiesKind }
    putDocument(set, editions, place, { before: await current(), doc, hidden: {} })
    await store.commit(set)
  }

  /** By longest prefix. Unknown numbers are left out. */
  const ofMany = async (numbers: readonly string[]): Promise<Map<string, Locality>> => {
    const edition = (await current())?.doc
    const found = new Map<string, Locality>()
    if (!edition) return found
    const { generation, prefix_lengths: lengths } = edition
    const candidates = new Map(numbers.map((number) => [number, prefixesOf(number, lengths)]))
    const known = await rows.find(generation, [...new Set([...candidates.values()].flat())])
    for (const [number, prefixes] of candidates) {
      const longest = prefixes.find((prefix) => known.has(prefix))
      const locality = longest === undefined ? undefined : known.get(longest)
      if (locality) found.set(number, locality)
    }
    return found
  }

  return {
    ofMany,

    areThere: async () => (await current()) !== undefined,

    /** Cities by the beginning of their name, with prefixes. */
    async cities(country: string, name: string): Promise<Record<string, City>> {
      const edition = (await current())?.doc
      const key = cityKey(name)
      return edition && key !== '' ? citiesOf(await rows.cities(edition.generation, country, key)) : {}
    },

    /**
     * Replaces all rows at once. If two rows have one prefix, the later one counts. Returns the number of rows.
     */
    async replaceAll(author: Author, batches: AsyncIterable<readonly Locality[]>): Promise<number> {
      const generation = newId(store.clock.now())
      const lengths = new Set<number>()
      const waiting = new Map<string, Locality>()
      const write = async () => {
        await rows.insert(generation, [...waiting.values()])
        waiting.clear()
      }
      for await (const batch of batches) {
        for (const row of batch) {
          lengths.add(row.prefix.length)
          waiting.set(row.prefix, row)
        }
        if (waiting.size >= rowsPerWrite) await write()
      }
      if (waiting.size > 0) await write()
      if (lengths.size === 0) throw failure(invalidData, { data: { message: 'no locality to import' } })
      await rows.analyze()
      const count = await rows.count(generation)
      await publish(author, { generation, rows: count, prefix_lengths: [...lengths] })
      await rows.dropOthers(generation)
      return count
    },
  }
}
