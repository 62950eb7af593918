import { removalIn, removalKind } from '../../areas/events/audit/removal.ts'
import { type ChainedContent, chained, contentDigest } from '../../lib/chain.ts'
import { auditColumns, eventAction } from '../../storage/audit-log.ts'
import type { Store } from '../../storage/store.ts'
import { integer, optional, shape, text } from '../../storage/table.ts'

export interface Link extends ChainedContent {
  sequence: number
  digest: string
  previousDigest: string | undefined
}

/** The end of a chain as `audit_heads` has it. */
interface ChainEnd {
  sequence: number
  digest: string
}

/** The newest removal by retention: the first entry that is left refers to its digest. */
interface Removal {
  sequence: number
  digest: string
}

export interface Fault {
  /** Undefined: the entry is missing. */
  entryId: string | undefined
  sequence: number
  reason: string
}

const faultAt = ({ id, sequence }: Pick<Link, 'id' | 'sequence'>, reason: string): Fault => ({
  entryId: id,
  sequence,
  reason,
})

/** Follows the chain of one account; `end` was read before the first entry. */
const createChainWalk = (end: ChainEnd | undefined) => {
  let first: Link | undefined
  let last: Pick<Link, 'sequence' | 'digest'> | undefined
  let isEndSeen = end === undefined

  return {
    take(link: Link): Fault | undefined {
      const previous = link.previousDigest ?? null
      first ??= link
      if (last && previous !== last.digest)
        return faultAt(link, 'the previous entry was altered, removed or moved')
      if (link.digest !== chained(contentDigest(link), { previous, sequence: link.sequence }))
        return faultAt(link, 'was altered')
      last = { sequence: link.sequence, digest: link.digest }
      isEndSeen ||= end !== undefined && link.sequence === end.sequence && link.digest === end.digest
      return undefined
    },

    /** Checks both ends of the chain; `endNow` was read after the last entry. */
    finish(removal: Removal | undefined, endNow: ChainEnd | undefined): Fault | undefined {
      if (last && !endNow) return { entryId: undefined, sequence: last.sequence, reason: 'has no stored end' }
      if (first && (first.previousDigest ?? null) !== (removal?.digest ?? null))
        return faultAt(first, 'earlier entries are missing and were not removed by retention')
      const isAllRemoved = end !== undefined && removal?.digest === end.digest
      if (end && !isEndSeen && !isAllRemoved)
        return { entryId: undefined, sequence: end.sequence, reason: 'was removed' }
      return undefined
    },
  }
}

/** Entries that retention has released must be older than the chain. */
const letGoFault = (
  { id, sequence }: Pick<Link, 'id' | 'sequence'>,
  removal: Removal | undefined,
): Fault | undefined =>
  sequence <= (removal?.sequence ?? 0) ? undefined : faultAt({ id, sequence }, 'was removed from the chain')

const chain = shape({
  ...auditColumns,
  sequence: integer(),
  digest: text(),
  previousDigest: optional(text()),
})
const ends = shape({ sequence: integer(), digest: text() })
const letGo = shape({ id: text(), sequence: integer() })
const lines = shape({ id: text(), beforeDoc: text() })

// Entries that are read together, and the size of their texts.
const maxEntriesPerRead = 500
const maxCharacters = 4_000_000

const inChain = `sequence IS NOT NULL AND digest IS NOT NULL AND action <> '${eventAction}'`

const length = ['author', 'changes', 'before_doc', 'after_doc']
  .map((column) => `coalesce(length(${column}), 0)`)
  .join(' + ')

const isRemoval = `account_id = $1 AND record_id = $1 AND kind = '${removalKind}' AND action = 'deleted'
  AND before_doc IS NOT NULL`

interface KnownRemoval extends Removal {
  id: string
}

const createVerificationStore = ({ scan }: Store) => ({
  /** In the order of ids: accounts that have a chain, or had one. */
  async nextAccount(after: string): Promise<string | undefined> {
    const [row] = await scan(
      `SELECT min(account_id) AS account_id FROM (
        SELECT min(account_id) AS account_id FROM audit_log WHERE account_id > $1
        UNION ALL SELECT min(account_id) FROM audit_heads WHERE account_id > $1) AS nearest`,
      [after],
    )
    return typeof row?.account_id === 'string' ? row.account_id : undefined
  },

  async endOf(accountId: string): Promise<ChainEnd | undefined> {
    return ends.first(
      await scan(`SELECT ${ends.columns} FROM audit_heads WHERE account_id = $1`, [accountId]),
    )
  },

  /** The entry about a removal may have no place yet. */
  async removalOf(accountId: string): Promise<KnownRemoval | undefined> {
    const newest = async (condition: string, order: string) =>
      lines.first(
        await scan(
          `SELECT ${lines.columns} FROM audit_log WHERE ${isRemoval} AND ${condition} ORDER BY ${order} DESC LIMIT 1`,
          [accountId],
        ),
      )
    const found = (await newest('sequence IS NULL', 'id')) ?? (await newest(inChain, 'sequence'))
    const removal = found && (await removalIn(found.beforeDoc))
    return removal && { id: found.id, ...removal }
  },

  async links(accountId: string, after: number): Promise<Link[]> {
    const [row] = await scan(
      `SELECT max(sequence) AS sequence FROM (
        SELECT sequence, ${length} AS own, sum(${length}) OVER (ORDER BY sequence) AS total FROM (
          SELECT * FROM audit_log WHERE account_id = $1 AND sequence > $2 AND ${inChain}
            ORDER BY sequence LIMIT ${maxEntriesPerRead}) AS next) AS sized
        WHERE total - own <= ${maxCharacters}`,
      [accountId, after],
    )
    if (row?.sequence === null || row?.sequence === undefined) return []
    const rows = await scan(
      `SELECT ${chain.columns} FROM audit_log
        WHERE account_id = $1 AND sequence > $2 AND sequence <= $3 AND ${inChain} ORDER BY sequence`,
      [accountId, after, Number(row.sequence)],
    )
    return chain.list(rows)
  },

  /** The newest entry that retention has released and events still need. */
  async newestLetGo(accountId: string): Promise<{ id: string; sequence: number } | undefined> {
    return letGo.first(
      await scan(
        `SELECT ${letGo.columns} FROM audit_log WHERE account_id = $1 AND sequence IS NOT NULL
          AND digest IS NULL AND action <> '${eventAction}' ORDER BY sequence DESC LIMIT 1`,
        [accountId],
      ),
    )
  },
})

interface AccountFault extends Fault {
  accountId: string
}

export interface Verification {
  accounts: number
  entries: number
  /** The first fault of each broken chain. */
  faults: AccountFault[]
}

/** Verifies all chains while the store is in use. */
export const createVerification = (store: Store) => {
  const rows = createVerificationStore(store)

  const walk = async (accountId: string, removal: KnownRemoval | undefined) => {
    const chain = createChainWalk(await rows.endOf(accountId))
    let entries = 0
    let after = 0
    for (;;) {
      const links = await rows.links(accountId, after)
      for (const link of links) {
        const fault = chain.take(link)
        if (fault) return { entries, fault }
        entries += 1
        after = link.sequence
      }
      if (links.length > 0) continue
      const letGo = await rows.newestLetGo(accountId)
      return {
        entries,
        fault: chain.finish(removal, await rows.endOf(accountId)) ?? (letGo && letGoFault(letGo, removal)),
      }
    }
  }

  /** Repeats an account if retention removed entries at the same time. */
  const verify = async (accountId: string) => {
    for (;;) {
      const removal = await rows.removalOf(accountId)
      const found = await walk(accountId, removal)
      if (!found.fault || (await rows.removalOf(accountId))?.id === removal?.id) return found
    }
  }

  return {
    async all(onProgress: (sofar: Readonly<Verification>) => void): Promise<Verification> {
      const result: Verification = { accounts: 0, entries: 0, faults: [] }
      let accountId = await rows.nextAccount('')
      while (accountId !== undefined) {
        const { entries, fault } = await verify(accountId)
        result.accounts += 1
        result.entries += entries
        if (fault) result.faults.push({ accountId, ...fault })
        onProgress(result)
        accountId = await rows.nextAccount(accountId)
      }
      return result
    },
  }
}
