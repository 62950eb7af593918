// The accounts themselves: before everything else, each behind who stands above it.

import type { Facts } from '../chapters/chapter.ts'
import { convertAccount } from '../conversions/accounts/rules.ts'
import { copiesDatabase } from '../conversions/accounts/seen.ts'
import { finding } from '../conversions/findings.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, Finding } from '../documents/document.ts'
import { readDocument } from '../documents/fields.ts'
import type { Batches } from './batches.ts'
import type { BatchTold } from './reading.ts'
import type { DatabaseRow, RunStore } from './store.ts'

interface Tools {
  run: RunStore
  batches: Batches
  /** Whether what the store has refused is tried again. */
  triesAgain: boolean
  onBatch(told: BatchTold): void
}

const accountsAtOnce = 50
const chapter = 'accounts'

const position: DatabaseRow = {
  name: copiesDatabase,
  chapter,
  mark: undefined,
  sequence: undefined,
  isWhole: true,
  documents: 0,
  notes: {},
}

/** Somebody has deleted the account while it was taken over: what goes with it here, a person has to say. */
const goneMeanwhile = (id: string) =>
  finding({ database: accountDatabase(id), id }, 'needs_hand', 'account_gone_meanwhile')

export const createTreeReading = ({ run, batches, triesAgain, onBatch }: Tools) => {
  const convert = async (
    { source, plan }: Facts,
    id: string,
    ofPlan: readonly Finding[],
  ): Promise<Converted[]> => {
    const planned = plan.accounts.get(id)
    const found = planned && (await source.document(planned.source, id))
    if (!planned || !found) return []
    const converted = convertAccount(readDocument(planned.source, found), plan)
    // What was found of it while the tree was planned is told with it.
    return [{ ...converted, findings: [...ofPlan, ...converted.findings] }]
  }

  const batchOf = ({ source, accounts }: Facts, masterId: string, converted: readonly Converted[]) => ({
    source,
    database: copiesDatabase,
    masterId,
    converted,
    triesAgain,
    gone: [],
    position: { ...position, documents: accounts.size },
  })

  return async (facts: Facts, masterId: string) => {
    const findings = Map.groupBy(facts.plan.findings, ({ id }) => id)
    const ids = [...facts.accounts.keys()]
    for (let from = 0; from < ids.length; from += accountsAtOnce) {
      const some = ids.slice(from, from + accountsAtOnce)
      const converted = (
        await Promise.all(some.map((id) => convert(facts, id, findings.get(id) ?? [])))
      ).flat()
      const written = await batches.store(batchOf(facts, masterId, converted))
      onBatch({ chapter, database: copiesDatabase, documents: converted.length, ...written })
    }
    for await (const known of run.ids(copiesDatabase)) {
      const gone = known.filter((id) => !facts.accounts.has(id))
      if (gone.length > 0) await batches.tell(batchOf(facts, masterId, []), gone.map(goneMeanwhile))
    }
  }
}
