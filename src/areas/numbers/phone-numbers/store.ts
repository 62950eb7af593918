import { accountKind } from '../../../auth/identity.ts'
import { pagesOf } from '../../../lib/list.ts'
import { type ChangeSet, conflict, systemScope } from '../../../storage/change-set.ts'
import type { Value } from '../../../storage/db.ts'
import { isStorable, requireRecord, StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, oneOf, type RowOf, table, text } from '../../../storage/table.ts'
import type { NumberState } from './rules.ts'
import { numberStates } from './schema.ts'
import { numberReleased, numberRenamed } from './signals.ts'

/** Whether the owner has it for good: neither being ported in nor with a pending order. */
const isHeld = ({ accountId, state, hidden }: NumberRecord) =>
  accountId !== '' && (state === 'in_service' || state === 'reserved') && hidden.pendingOrder === undefined

const isPorted = (before: NumberRecord, after: NumberRecord) =>
  before.state === 'port_in' && after.state === 'in_service' && after.accountId !== ''

const isBought = (before: NumberRecord | undefined, after: NumberRecord) => {
  if (!isHeld(after) || (before && isPorted(before, after))) return false
  if (!before || before.accountId === '') return true
  // A number that is reserved again for an earlier holder was not bought.
  return before.accountId === after.accountId ? !isHeld(before) : after.state !== 'reserved'
}

const numberKind = 'number'

/** Public fields, also those that no schema names. */
export type NumberDoc = Readonly<Record<string, unknown>>

export interface NumberHidden {
  /** Feature -> its data. */
  features: Readonly<Record<string, unknown>>
  featuresAllowed?: readonly string[]
  featuresDenied?: readonly string[]
  /** Latest first. */
  reserveHistory?: readonly string[]
  previouslyAssignedTo?: string
  /** Sent to the carrier with later requests. */
  carrierData?: Readonly<Record<string, unknown>>
  portedIn?: true
  /** Id of the job whose carrier has not answered. */
  pendingOrder?: string
  /** Returned to the carrier: the next account orders it again. */
  givenBack?: true
  deviceId?: string
  region?: string
  locality?: Readonly<Record<string, unknown>>
  /** Only other records mention it: the inventory's own record replaces it. */
  isHearsay?: true
}

const numberRows = table('numbers', {
  id: text('number'),
  /** Empty: no owner. */
  accountId: text(),
  state: oneOf(numberStates),
  carrier: text(),
  /** `callflow`, `trunkstore`, `mobile`, or empty. */
  usedBy: text(),
  /** ISO 3166-1 alpha-2, or empty. */
  country: text(),
  classifier: text(),
  created: integer(),
  modified: integer(),
  revision: text(),
  docText: text('doc'),
  hiddenText: text('hidden'),
  rowText: text('row_json'),
})

type NumberFields = RowOf<typeof numberRows>

/** `accountId` is empty without an owner; `id` is the number. */
export class NumberRecord
  extends StoredRecord<Record<string, unknown>, NumberHidden>
  implements NumberFields
{
  readonly state: NumberState
  readonly carrier: string
  readonly usedBy: string
  readonly country: string
  readonly classifier: string

  constructor(fields: NumberFields) {
    // Listed one by one: a spread takes longer than all the rest, and lists are long.
    super({
      accountId: fields.accountId,
      kind: numberKind,
      id: fields.id,
      ownerId: '',
      sortKey: fields.id,
      created: fields.created,
      modified: fields.modified,
      revision: fields.revision,
      docText: fields.docText,
      hiddenText: fields.hiddenText,
      rowText: fields.rowText,
    })
    this.state = fields.state
    this.carrier = fields.carrier
    this.usedBy = fields.usedBy
    this.country = fields.country
    this.classifier = fields.classifier
  }
}

const insertNumber = numberRows.insert('ON CONFLICT DO NOTHING')
const updateNumber = numberRows.update(['id'], 'AND revision = $14')
const deleteSql = 'DELETE FROM numbers WHERE number = $1 AND revision = $2'

const decided = { rows: 1, orElse: conflict }

const subject = ({ accountId, id }: NumberRecord) => ({
  accountId: accountId || systemScope,
  kind: numberKind,
  id,
})

/** Public fields and hidden facts for the audit log. */
const audited = ({ docText, hidden, state, carrier, usedBy, accountId }: NumberRecord) => {
  const facts = JSON.stringify({
    state,
    carrier_module: carrier,
    ...(accountId ? { assigned_to: accountId } : {}),
    ...(usedBy ? { used_by: usedBy } : {}),
    features: Object.keys(hidden.features),
    ...(hidden.reserveHistory?.length ? { reserve_history: hidden.reserveHistory } : {}),
    ...(hidden.pendingOrder === undefined ? {} : { pending: true }),
  })
  return docText === '{}' ? facts : `${facts.slice(0, -1)},${docText.slice(1)}`
}

const tellPort = (set: ChangeSet, after: NumberRecord) =>
  set.happened({ ...subject(after), type: 'number.ported', after: audited(after) })

const tellArrival = (set: ChangeSet, before: NumberRecord | undefined, after: NumberRecord) => {
  const event = isBought(before, after) ? ({ event: 'number.bought' } as const) : {}
  set.record({ ...subject(after), action: 'created', after: audited(after), ...event })
  if (before && isPorted(before, after)) tellPort(set, after)
}

const tellLoss = (set: ChangeSet, before: NumberRecord) => {
  const { accountId, id, hidden } = before
  if (accountId) set.tell(numberReleased, { accountId, number: id })
  const isReleased = accountId !== '' && hidden.pendingOrder === undefined
  const event = isReleased ? ({ event: 'number.released' } as const) : {}
  set.record({ ...subject(before), action: 'deleted', before: audited(before), ...event })
}

const tellEdit = (set: ChangeSet, before: NumberRecord, after: NumberRecord) => {
  const isMoved = before.state !== after.state
  const event = isBought(before, after) ? ({ event: 'number.bought' } as const) : {}
  set.record({
    ...subject(after),
    action: 'edited',
    before: audited(before),
    after: audited(after),
    ...(isMoved ? { event: 'number.state_changed' } : event),
  })
  if (isPorted(before, after)) tellPort(set, after)
}

interface NumberPage {
  accountId: string
  after?: string | undefined
  limit: number
  descending: boolean
  /** Read off the event loop. */
  long?: boolean
}

// The same for every owner.
const sealedAt = ({ id }: Pick<NumberFields, 'id'>) => ({ accountId: '', kind: numberKind, id })

type ListedAt = Pick<NumberFields, 'accountId' | 'id'>

export type NumberStore = ReturnType<typeof createNumberStore>

export const createNumberStore = (store: Store) => ({ ...numberReads(store), ...numberWrites(store) })

const numberReads = ({ sealing, words, all, scan }: Store) => {
  const toNumber = (fields: NumberFields) => {
    fields.docText = sealing.open(sealedAt(fields), fields.docText)
    return new NumberRecord(fields)
  }

  const read = async (end: string, params: readonly Value[], long = false) => {
    const sql = `SELECT ${numberRows.columnsOf('n')} FROM ${end}`
    return numberRows.list(await (long ? scan : all)(sql, params)).map(toNumber)
  }

  /** System-wide. Missing numbers are left out. */
  const findSeveral = async (numbers: readonly string[]): Promise<Map<string, NumberRecord>> => {
    const asked = JSON.stringify(numbers.filter(isStorable).map((number) => [number, '']))
    const found = await read(`${words.pairs('$1')} CROSS JOIN numbers n WHERE n.number = pairs.a`, [asked])
    return new Map(found.map((number) => [number.id, number]))
  }

  /** System-wide, for transitions, search and identification. Other callers pass an account. */
  const findAnywhere = async (number: string): Promise<NumberRecord | undefined> => {
    if (!isStorable(number)) return undefined
    return (await read('numbers n WHERE number = $1', [number]))[0]
  }

  const page = ({ accountId, after, limit, descending, long }: NumberPage): Promise<NumberRecord[]> => {
    const keyset = after === undefined ? '' : `AND number ${descending ? '<' : '>'} $3`
    const sql = `numbers n WHERE account_id = $1 AND account_id <> '' ${keyset}
      ORDER BY number ${descending ? 'DESC' : 'ASC'} LIMIT $2`
    return read(sql, [accountId, limit, ...(after === undefined ? [] : [after])], long)
  }

  const behindAccount = (ancestorId: string, accountId: string, limit: number) =>
    read(
      `account_tree t JOIN numbers n ON n.account_id = t.account_id AND n.account_id <> ''
        WHERE t.ancestor_id = $1 AND t.account_id > $2 ORDER BY t.account_id, n.number LIMIT $3`,
      [ancestorId, accountId, limit],
      true,
    )

  return {
    findAnywhere,
    findSeveral,
    page,

    async find(accountId: string, number: string): Promise<NumberRecord | undefined> {
      const found = await findAnywhere(number)
      return found?.accountId === accountId ? found : undefined
    },

    /** All numbers of an account. */
    pages: (accountId: string, limit: number) =>
      pagesOf<NumberRecord>(limit, (last) =>
        page({ accountId, after: last?.id, limit, descending: false, long: true }),
      ),

    /** Numbers of an account, then of its sub-accounts by id. */
    async pageOfTree(accountId: string, after: ListedAt | undefined, limit: number): Promise<NumberRecord[]> {
      const here = after?.accountId ?? accountId
      const rest = await page({ accountId: here, after: after?.id, limit, descending: false, long: true })
      if (rest.length === limit) return rest
      const below = here === accountId ? '' : here
      return [...rest, ...(await behindAccount(accountId, below, limit - rest.length))]
    },

    /** All numbers of the system, or those in one state. */
    pageOfSystem(state: NumberState | undefined, after: string, limit: number): Promise<NumberRecord[]> {
      const inState = state === undefined ? '' : 'AND state = $3'
      const sql = `numbers n WHERE number > $1 ${inState} ORDER BY number LIMIT $2`
      return read(sql, [after, limit, ...(state === undefined ? [] : [state])], true)
    },

    /** `before`: Gregorian seconds. */
    passed: (state: 'aging' | 'deleted' | 'discovery', before: number, limit: number) =>
      read(
        // The text of the partial index's condition, or the index is not used.
        `numbers n WHERE state IN ('aging', 'deleted', 'discovery') AND state = $1 AND modified < $2
          ORDER BY modified, number LIMIT $3`,
        [state, before, limit],
      ),

    porting: (accountId: string, limit: number) =>
      read(
        // As above.
        `numbers n WHERE state IN ('port_in', 'port_out') AND account_id = $1 ORDER BY number LIMIT $2`,
        [accountId, limit],
      ),

    async countOf(accountId: string, atMost: number) {
      const [row] = await all(
        `SELECT count(*) AS count FROM
          (SELECT 1 FROM numbers WHERE account_id = $1 AND account_id <> '' LIMIT $2) AS counted`,
        [accountId, atMost],
      )
      return Number(row?.count ?? 0)
    },
  }
}

const numberWrites = ({ sealing }: Store) => {
  const stored = (number: NumberRecord): NumberFields => {
    const docText = sealing.shut(sealedAt(number), number.docText)
    return docText === number.docText ? number : { ...number, docText }
  }

  const add = (set: ChangeSet, number: NumberRecord) =>
    set.add(insertNumber(stored(number), decided)).keep(number, { isNew: number.accountId !== '' })

  const change = (set: ChangeSet, before: NumberRecord, after: NumberRecord) => {
    const { sql, params } = updateNumber(stored(after))
    set.run(sql, [...params, before.revision], decided)
  }

  const drop = (set: ChangeSet, number: NumberRecord) =>
    set.run(deleteSql, [number.id, number.revision], decided)

  return {
    insert(set: ChangeSet, number: NumberRecord) {
      add(set, number)
      tellArrival(set, undefined, number)
    },

    /** Informs both accounts if the owner changes. */
    replace(set: ChangeSet, before: NumberRecord, after: NumberRecord) {
      change(set, before, after)
      set.keep(after, { isNew: after.accountId !== '' && before.accountId !== after.accountId })
      if (before.accountId === after.accountId) return tellEdit(set, before, after)
      if (before.accountId) tellLoss(set, before)
      if (after.accountId) tellArrival(set, before, after)
      if (before.state === after.state) return
      // The account that lost the number must not learn the new owner.
      const state = after.accountId ? audited(after) : JSON.stringify({ state: after.state })
      const hearer = after.accountId ? after : before
      set.happened({ ...subject(hearer), type: 'number.state_changed', after: state })
    },

    remove(set: ChangeSet, number: NumberRecord) {
      drop(set, number)
      tellLoss(set, number)
    },

    /** Imports a number. Former owners are not informed. */
    arrive(set: ChangeSet, before: NumberRecord | undefined, after: NumberRecord) {
      if (before) change(set, before, after)
      else add(set, after)
      const action = before ? 'edited' : 'created'
      const texts = { ...(before ? { before: audited(before) } : {}), after: audited(after) }
      set.record({ ...subject(after), action, ...texts })
    },

    /** Undoes an import. */
    withdraw(set: ChangeSet, number: NumberRecord) {
      drop(set, number)
      set.record({ ...subject(number), action: 'deleted', before: audited(number) })
    },

    rename(set: ChangeSet, before: NumberRecord, after: NumberRecord) {
      drop(set, before)
      set.record({ ...subject(before), action: 'deleted', before: audited(before) })
      add(set, after)
      set.record({ ...subject(after), action: 'created', after: audited(after) })
      const { accountId } = before
      if (accountId) set.tell(numberRenamed, { accountId, number: before.id, after: after.id })
    },

    /** Fails the change set if the account is removed at the same time. */
    requireAccount: (set: ChangeSet, accountId: string) =>
      requireRecord(set, { accountId, kind: accountKind, id: accountId }),

    /** Fails the change set if the account owns a number. */
    requireNone: (set: ChangeSet, accountId: string) =>
      set.run(
        "UPDATE numbers SET revision = revision WHERE account_id = $1 AND account_id <> ''",
        [accountId],
        { rows: 0, orElse: conflict },
      ),
  }
}
