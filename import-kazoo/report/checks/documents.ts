import type { Check } from '../../../src/lib/check.ts'
import { isObject } from '../../../src/lib/json.ts'
import type { Chapter } from '../../chapters/chapter.ts'
import type { Converted, Draft } from '../../documents/document.ts'
import { keptPlace } from '../../keeping/rules.ts'
import { convertedOf } from '../../running/reading.ts'
import { type DocumentRow, isRefused, isVanished } from '../../running/store.ts'
import { DatabaseVanished } from '../../source/source.ts'
import { createFileJudge } from './files.ts'
import { createPriceJudge } from './prices.ts'
import { type CheckTools, difference, inParts, type Tell } from './told.ts'

const numberAdoptions: ReadonlySet<string> = new Set(['number', 'number_by_hearsay'])

/** Every document has come to what it is to come to, and what was made of it is there. */
export const checkDocuments = ({ run, checked, facts, chapters, adoptions, records }: CheckTools): Check => {
  const judgeFiles = createFileJudge({ run, adoptions })
  const judgePrices = createPriceJudge({ records, adoptions })

  /** Those of these records that are there; undefined where it is looked at by another check. */
  const standing = async ({ as, accountId }: Draft, ids: readonly string[]) => {
    const { kind } = adoptions[as] ?? {}
    if (kind !== undefined) return checked.present(kind, accountId, ids)
    if (numberAdoptions.has(as)) return new Set((await checked.numbers(ids)).keys())
    return as === 'kazoo_kept' ? keptAmong(accountId, ids) : undefined
  }

  const keptAmong = async (accountId: string, names: readonly string[]) => {
    const found = new Set<string>()
    const byDatabase = Map.groupBy(names, (name) => keptPlace(accountId, name).database)
    for (const [database, some] of byDatabase) {
      const idOf = (name: string) => keptPlace(accountId, name).id
      const there = await checked.kept(accountId, database, some.map(idOf))
      for (const name of some) if (there.has(idOf(name))) found.add(name)
    }
    return found
  }

  const judgeDrafts = async (drafts: readonly Draft[], tell: Tell) => {
    for (const same of Map.groupBy(drafts, ({ as, accountId }) => `${as}/${accountId}`).values()) {
      const [first] = same
      const there = first && (await standing(first, [...new Set(same.map(({ id }) => id))]))
      if (!there) continue
      for (const { as, accountId, id } of same)
        if (!there.has(id)) tell({ place: `account ${accountId}, ${as} ${id}`, reason: 'it is not there' })
    }
  }

  const hasDigests = ({ as, facts: { digests } }: Draft) =>
    as === 'user' && isObject(digests) && Object.keys(digests).length > 0

  /** Whoever could sign in there can here. */
  const judgeKeys = async (drafts: readonly Draft[], tell: Tell) => {
    const users = Map.groupBy(drafts.filter(hasDigests), ({ accountId }) => accountId)
    for (const [accountId, some] of users) {
      const ids = some.map(({ id }) => id)
      for (const id of await checked.withoutKeys(accountId, ids))
        tell({ place: `account ${accountId}, user ${id}`, reason: 'the user has no keys to sign in with' })
    }
  }

  const judgeOutcome = ({ document, outcome }: Converted, row: DocumentRow | undefined, tell: Tell) => {
    const place = `${document.database} ${document.id}`
    if (!row) tell({ place, reason: `expected ${outcome}, found nothing` })
    else if (!isRefused(row) && row.outcome !== outcome)
      tell({ place, reason: `expected ${outcome}, found ${row.outcome}` })
  }

  const judge = async (database: string, converted: readonly Converted[], tell: Tell) => {
    for (const some of inParts(converted)) {
      const known = await run.known(
        database,
        some.map(({ document }) => document.id),
      )
      for (const one of some) judgeOutcome(one, known.get(one.document.id), tell)
      const stored = some.filter(({ document }) => {
        const row = known.get(document.id)
        return row && !isRefused(row)
      })
      const drafts = stored.flatMap((one) => one.drafts)
      await judgeDrafts(drafts, tell)
      await judgeKeys(drafts, tell)
      await judgePrices(drafts, tell)
      for (const one of stored) await judgeFiles(one, tell)
    }
  }

  const checkDatabase = async (chapter: Chapter, database: string, tell: Tell) => {
    const row = await run.database(database)
    if (row && isVanished(row)) return 0
    const expected = new Map<string, number>()
    let seen = 0
    for await (const converted of convertedOf(chapter, facts, database)) {
      for (const { document } of converted)
        expected.set(document.type, (expected.get(document.type) ?? 0) + 1)
      await judge(database, converted, tell)
      seen += converted.length
    }
    const found = await checked.remembered(database)
    for (const type of new Set([...expected.keys(), ...found.keys()])) {
      const [wanted, there] = [expected.get(type) ?? 0, found.get(type) ?? 0]
      if (wanted !== there)
        tell({ place: database, reason: difference(`documents of type ${type || '(none)'}`, wanted, there) })
    }
    return seen
  }

  return {
    name: 'documents',
    async run(tell) {
      let seen = 0
      for (const chapter of chapters)
        for (const database of chapter.databases(facts)) {
          try {
            seen += await checkDatabase(chapter, database, tell)
          } catch (error) {
            // What came of one that is there no more was told when it was read.
            if (!(error instanceof DatabaseVanished)) throw error
          }
        }
      return seen
    },
  }
}
