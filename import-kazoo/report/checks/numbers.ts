import type { Converted, Draft } from '../../documents/document.ts'
import { inParts } from '../../running/at-once.ts'
import { convertedOf } from '../../running/reading.ts'
import { isRefused } from '../../running/store.ts'
import { type CheckDeps, compare, compareCounts, difference, eachDatabase, type Tell } from './tools.ts'

const nobody = 'nobody'

/** Every number of the inventory is there, in its state and whose it is to be, and there are no others. */
export const checkNumbers = async (tools: CheckDeps, tell: Tell) => {
  const { run, checked, facts, chapters } = tools
  const states = new Map<string, number>()

  const judge = async (drafts: readonly Draft[]) => {
    const found = await checked.numbers(drafts.map(({ id }) => id))
    for (const { id, accountId, facts: said } of drafts) {
      const place = `number ${id}`
      const number = found.get(id)
      states.set(String(said.state), (states.get(String(said.state)) ?? 0) + 1)
      if (!number) {
        tell({ place, reason: `owner: expected ${accountId || nobody}, found no such number` })
        continue
      }
      compare(
        place,
        [
          ['owner', accountId || nobody, number.accountId || nobody],
          ['state', said.state, number.state],
          ['carrier', said.carrier, number.carrier],
          ['used_by', said.usedBy || 'nothing', number.usedBy || 'nothing'],
        ],
        tell,
      )
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

  const chapter = chapters.find(({ name }) => name === 'numbers')
  if (!chapter) return
  const isWhole = await eachDatabase(tools, chapter, async (database) => {
    for await (const converted of convertedOf(chapter, facts, database))
      for (const some of inParts(converted)) await judge(await taken(database, some))
  })
  // A database that is not read whole says nothing about how many there are.
  if (isWhole)
    compareCounts(states, await checked.numberStates(), (state, wanted, there) =>
      tell({ place: 'all numbers', reason: difference(`in state ${state}`, wanted, there) }),
    )
}
