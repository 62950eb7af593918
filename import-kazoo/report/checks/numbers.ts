import type { Check } from '../../../src/lib/check.ts'
import type { Converted, Draft } from '../../documents/document.ts'
import { convertedOf } from '../../running/reading.ts'
import { isRefused, isVanished } from '../../running/store.ts'
import { DatabaseVanished } from '../../source/source.ts'
import { type CheckTools, difference, inParts, type Tell } from './told.ts'

const nobody = 'nobody'

/** Every number of the inventory is there, in its state and whose it is to be, and there are no others. */
export const checkNumbers = ({ run, checked, facts, chapters }: CheckTools): Check => {
  const judge = async (drafts: readonly Draft[], tell: Tell) => {
    const found = await checked.numbers(drafts.map(({ id }) => id))
    for (const { id, accountId, facts: said } of drafts) {
      const place = `number ${id}`
      const number = found.get(id)
      if (!number) {
        tell({ place, reason: `owner: expected ${accountId || nobody}, found no such number` })
        continue
      }
      const fields: [string, unknown, string][] = [
        ['owner', accountId || nobody, number.accountId || nobody],
        ['state', said.state, number.state],
        ['carrier', said.carrier, number.carrier],
        ['used_by', said.usedBy || 'nothing', number.usedBy || 'nothing'],
      ]
      for (const [field, expected, there] of fields)
        if (expected !== there) tell({ place, reason: `${field}: expected ${expected}, found ${there}` })
    }
  }

  const taken = async (database: string, converted: readonly Converted[]) => {
    const known = await run.known(
      database,
      converted.map(({ document }) => document.id),
    )
    return converted.flatMap(({ document, drafts }) => {
      const row = known.get(document.id)
      return row && isRefused(row) ? [] : drafts.filter(({ as }) => as === 'number')
    })
  }

  /** A database that is not read whole says nothing about how many there are. */
  const checkDatabase = async (database: string, counts: Map<string, number>, tell: Tell) => {
    const chapter = chapters.find(({ name }) => name === 'numbers')
    const row = await run.database(database)
    if (!chapter || (row && isVanished(row))) return false
    for await (const converted of convertedOf(chapter, facts, database))
      for (const some of inParts(converted)) {
        const drafts = await taken(database, some)
        for (const { facts: said } of drafts) {
          const state = String(said.state)
          counts.set(state, (counts.get(state) ?? 0) + 1)
        }
        await judge(drafts, tell)
      }
    return true
  }

  const compareStates = async (expected: ReadonlyMap<string, number>, tell: Tell) => {
    const found = await checked.numberStates()
    for (const state of [...new Set([...expected.keys(), ...found.keys()])].sort()) {
      const [wanted, there] = [expected.get(state) ?? 0, found.get(state) ?? 0]
      if (wanted !== there)
        tell({ place: 'all numbers', reason: difference(`in state ${state}`, wanted, there) })
    }
  }

  return {
    name: 'numbers',
    async run(tell) {
      const counts = new Map<string, number>()
      let isWhole = true
      for (const [database, { kind }] of facts.kinds) {
        if (kind !== 'numbers') continue
        try {
          isWhole = (await checkDatabase(database, counts, tell)) && isWhole
        } catch (error) {
          if (!(error instanceof DatabaseVanished)) throw error
          isWhole = false
        }
      }
      if (isWhole) await compareStates(counts, tell)
      return [...counts.values()].reduce((sum, count) => sum + count, 0)
    },
  }
}
