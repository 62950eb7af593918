import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { failure, quotaExceeded, recordTooLarge } from '../../../lib/failure.ts'
import { valuesIn } from '../../../lib/json-values.ts'
import { type Author, type ChangeSet, systemScope, type Transfer } from '../../../storage/change-set.ts'
import type { Gate } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { bytesAbove, isLimitedKind, type QuotaRules, quotasOf, valuesAbove } from './rules.ts'
import { quotaSettings } from './settings.ts'
import { createQuotaStore } from './store.ts'

type Born = ChangeSet['born']

// Those that people create.
const shownKinds = ['user', 'device', 'group', 'callflow', 'number', 'webhook', 'resource', 'connectivity']

const quotaKeyOf = ({ accountId, kind }: Born[number]) => `${accountId}/${kind}`

const tooLarge = (kind: string, what: string, count: number, limit: number) =>
  failure(recordTooLarge, { kind, what, count, limit })

/** A record above the limit of values may get fewer. */
const judgeSizes = ({ kept, changes }: ChangeSet, rules: QuotaRules) => {
  const { record_bytes: mostBytes, record_values: mostValues } = rules
  for (const record of kept) {
    const bytes = bytesAbove(record, mostBytes)
    if (bytes !== undefined) throw tooLarge(record.kind, 'bytes of JSON text', bytes, mostBytes)
  }
  for (const { kind, before = '', after = '' } of changes) {
    const values = valuesAbove(after, mostValues)
    if (values !== undefined && values > valuesIn(before)) throw tooLarge(kind, 'values', values, mostValues)
  }
}

export const createQuotas = ({ store, settings, refusals }: DepsOf<'store' | 'settings' | 'refusals'>) => {
  const rows = createQuotaStore(store)
  const { records } = store

  /** `what`: a kind of records, or what else is counted. */
  const exceeded = (author: Author, accountId: string, what: string, limit: number) => {
    const after = JSON.stringify({ what, limit })
    refusals.tell(author, { accountId, type: 'limit.reached', kind: 'limit', id: what, after })
    return failure(quotaExceeded, { what, limit })
  }

  /** The operator's quotas: those of the whole system, and those of the account, which take precedence. */
  const isOperators = async (accountId: string, newcomers: ChangeSet['newcomers']) => {
    if (accountId === systemScope) return true
    const tree =
      newcomers.get(accountId)?.tree ?? (await records.find(accountId, accountKind, accountId))?.hidden.tree
    return tree?.length === 0
  }

  const judgeBirths = async ({ author, newcomers }: ChangeSet, born: Born, rules: QuotaRules) => {
    for (const ofKind of Map.groupBy(born, quotaKeyOf).values()) {
      const [first] = ofKind
      if (!first || !isLimitedKind(first.kind)) continue
      const { accountId, kind } = first
      const limit = quotasOf(rules, accountId).records(kind)
      const count = async (atMost: number) =>
        newcomers.has(accountId) ? 0 : rows.count(accountId, kind, atMost)
      if (await records.counts.allows(first, ofKind.length, limit, count)) continue
      if (await isOperators(accountId, newcomers)) continue
      throw exceeded(author, accountId, kind, limit)
    }
  }

  const requireRoomBelow = async (
    author: Author,
    ids: readonly string[],
    coming: number,
    rules: QuotaRules,
  ) => {
    for (const id of ids) {
      const limit = quotasOf(rules, id).subAccounts
      const above = await records.find(id, accountKind, id)
      if (above && above.tally + coming > limit) throw exceeded(author, id, accountKind, limit)
    }
  }

  /** A moved account counts with its sub-accounts, for its new ancestors only. */
  const judgeTransfer = async (author: Author, { accountId, from, to = [] }: Transfer, rules: QuotaRules) => {
    const below = (await records.find(accountId, accountKind, accountId))?.tally ?? 0
    const others = to.slice(1).filter((id) => !from.includes(id))
    await requireRoomBelow(author, others, 1 + below, rules)
  }

  const judgeFiles = async ({ author, filed }: ChangeSet, rules: QuotaRules) => {
    for (const [accountId, files] of Map.groupBy(filed, (file) => file.accountId)) {
      const { fileBytes: limit } = quotasOf(rules, accountId)
      const added = files.reduce((sum, { bytes }) => sum + bytes, 0)
      if (added <= 0 || (await rows.fileBytes(accountId)) + added <= limit) continue
      throw exceeded(author, accountId, 'file_bytes', limit)
    }
  }

  const judge = async (sets: readonly ChangeSet[]) => {
    const rules = await settings.of(quotaSettings)
    for (const set of sets) judgeSizes(set, rules)
    for (const set of sets) {
      const { author, born, newcomers, filed, transfers } = set
      // An account counts as a sub-account, not as a record.
      const others = newcomers.size === 0 ? born : born.filter(({ kind }) => kind !== accountKind)
      if (others.length > 0) await judgeBirths(set, others, rules)
      for (const { tree } of newcomers.values()) await requireRoomBelow(author, tree.slice(1), 1, rules)
      for (const transfer of transfers) await judgeTransfer(author, transfer, rules)
      if (filed.length > 0) await judgeFiles(set, rules)
    }
  }

  const gate: Gate = async (sets, write) => {
    if (sets.some(({ kept }) => kept.length > 0)) await judge(sets)
    return write(sets)
  }

  return {
    gate,

    /** What the account uses of its quotas. The master account has one for files only. */
    async usage({ id, tally, hidden: { tree } }: AccountRecord) {
      const { records: limitOf, subAccounts, fileBytes } = quotasOf(await settings.of(quotaSettings), id)
      const files = { name: 'file_bytes', used: await rows.fileBytes(id), limit: fileBytes }
      if (tree.length === 0) return [files]
      const ofKinds = shownKinds.map(async (name) => {
        const limit = limitOf(name)
        return { name, used: await rows.count(id, name, limit), limit }
      })
      const below = { name: 'sub_accounts', used: tally, limit: subAccounts }
      return [...(await Promise.all(ofKinds)), below, files]
    },

    async requireRoomForInput(author: Author, accountId: string, bytes: number) {
      const { taskInputBytes: limit } = quotasOf(await settings.of(quotaSettings), accountId)
      if (bytes > limit) throw exceeded(author, accountId, 'task_input_bytes', limit)
    },
  }
}

export type Quotas = ReturnType<typeof createQuotas>
