import { type AccountRecord, accountKind, userKind } from '../../../../auth/identity.ts'
import { badIdentifier, failure } from '../../../../lib/failure.ts'
import { gregorianOfUnix, unixOfGregorian } from '../../../../lib/gregorian.ts'
import { newId, randomHex } from '../../../../lib/ids.ts'
import { sameJson } from '../../../../lib/json.ts'
import { dayNumber, monthOf } from '../../../../lib/time-key.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { type ImportedRecord, type Importer, importingRows } from '../../../adoption.ts'
import { type ComparedInvoice, isChanged } from '../pricing/invoices.ts'
import type { QuantityReader } from '../quantities/operations.ts'
import { itemCount, type Quantities, type Totals } from '../quantities/rules.ts'
import { servicesSettings } from '../settings.ts'
import { createServicesStore } from '../store.ts'
import type { SyncBookkeepers } from '../synchronization/operations.ts'
import {
  type AuditDoc,
  type AuditEntry,
  type AuditReason,
  auditDoc,
  auditSummary,
  daysNewestFirst,
  manualChanges,
  type QuantityDay,
  summaryOfOne,
  totalCounts,
} from './rules.ts'
import { createAuditStore } from './store.ts'

/** Unix seconds, both days included. */
interface Days {
  from: number
  to: number
}

const auditId = /^\d{6}-[0-9a-f]+$/

/** A change of an account's invoices by a request for it or a sub-account. */
interface AuditedChange {
  account: AccountRecord
  compared: readonly ComparedInvoice[]
  /** The account that the request changed. */
  changed: { id: string; name: string }
  types: readonly AuditReason[]
}

export type ServiceAudit = ReturnType<typeof createServiceAudit>

/** The log of invoice changes. */
export const createServiceAudit = (tools: {
  store: Store
  settings: Settings
  quantities: QuantityReader
  tell: SyncBookkeepers
}) => {
  const { store, settings, quantities, tell } = tools
  const { records, clock } = store
  const entries = createAuditStore(store)
  const services = createServicesStore(store)

  const accountName = async (id: string) => (await records.find(id, accountKind, id))?.doc.name ?? id

  const signedIn = async ({ authAccountId: account_id, authUserId: type_id, authMethod = '' }: Author) => {
    if (account_id === undefined) return { authentication: undefined, agent: undefined }
    const authentication = { type: authMethod, account_id, account_name: await accountName(account_id) }
    if (type_id === undefined) return { authentication, agent: undefined }
    const user = await records.find(account_id, userKind, type_id)
    const names = { first_name: user?.doc.first_name ?? '', last_name: user?.doc.last_name ?? '' }
    return { authentication, agent: { type: 'user' as const, type_id, account_id, ...names } }
  }

  /** The author, in the format of audit entries. */
  const who = async (author: Author) => {
    const { requestId: id, clientAddress: client_ip = '', request } = author
    return { ...(await signedIn(author)), request: request && { id, client_ip, ...request } }
  }

  const isKept = async ({ hidden }: AccountRecord) =>
    hidden.tree.length > 0 || (await settings.of(servicesSettings)).should_save_master_audit_logs

  const daysIn = (accountId: string, { from, to }: Days) =>
    entries.days(accountId, dayNumber(from * 1000), dayNumber(to * 1000))

  const countsNow = async (accountId: string) =>
    totalCounts(await quantities.of(accountId), (await services.find(accountId))?.doc.manual ?? {})

  const entryId = () => `${monthOf(clock.now())}-${randomHex(13)}`

  return {
    who,

    /** Adds an entry for each changed invoice to a change set. */
    async add(set: ChangeSet, { account, compared, changed, types }: AuditedChange) {
      const changes = compared.filter(isChanged)
      if (changes.length === 0) return
      const bookkeepers = changes.map(({ after }) => after.bookkeeper)
      await tell(set, account, bookkeepers)
      if (!(await isKept(account))) return
      const facts = await who(set.author)
      for (const invoice of changes) {
        const named = { id: account.id, name: account.doc.name }
        const doc = auditDoc(invoice, { account: named, changed, types, ...facts })
        const now = clock.now()
        const times = { created: gregorianOfUnix(now / 1000), madeAt: now, place: newId(now) }
        entries.add(set, account.id, { id: entryId(), ...times, doc })
      }
    },

    page: entries.page,

    async get(accountId: string, id: string) {
      const entry = auditId.test(id) ? await entries.find(accountId, id) : undefined
      if (!entry) throw failure(badIdentifier, { cause: id })
      return entry
    },

    /** Adds manual counts to the day of a change set. */
    setManual(set: ChangeSet, accountId: string, before: Quantities, after: Quantities, counts: Totals) {
      const lastAt = clock.now()
      for (const { category, item, manual, own, delta } of manualChanges(before, after, counts.account))
        entries.addToDay(set, accountId, {
          category,
          item,
          day: dayNumber(lastAt),
          addition: Math.max(0, delta),
          removal: Math.max(0, -delta),
          own,
          below: itemCount(counts.cascade, category, item) ?? 0,
          manual,
          lastAt,
        })
    },

    /** The changes of counts by category and day. */
    async summary(accountId: string, window: Days) {
      return auditSummary(await daysIn(accountId, window), await countsNow(accountId))
    },

    /** The same for one category or item, the newest day first. */
    async summaryOfOne(accountId: string, window: Days, name: string) {
      return daysNewestFirst(summaryOfOne(await daysIn(accountId, window), await countsNow(accountId), name))
    },
  }
}

const importedAuditEntry = ({ id, created, doc }: ImportedRecord): AuditEntry => ({
  id,
  created,
  place: `-${id}`,
  madeAt: unixOfGregorian(created) * 1000,
  doc: doc as unknown as AuditDoc,
})

const importedDay = ({ created, facts }: ImportedRecord): QuantityDay => {
  const { quantity, ...day } = facts as unknown as QuantityDay & { quantity: number }
  return { ...day, own: quantity, below: 0, manual: undefined, lastAt: unixOfGregorian(created) * 1000 }
}

/** Imports audit entries of another system. */
export const createServiceAuditImporter = (store: Store): Importer => {
  const rows = createAuditStore(store)
  return importingRows<AuditEntry>({
    rowOf: importedAuditEntry,
    find: rows.find,
    isSame: sameJson,
    put: (set, accountId, entry) => rows.import(set, accountId, entry),
    remove: (set, accountId, { id }) => rows.remove(set, accountId, id),
  })
}

/** Ids are like `20250214/devices/sip_device`, each part URL-encoded. */
const dayPlaceIn = (id: string) => {
  const [day = '', category = '', item = ''] = id.split('/').map(decodeURIComponent)
  return { day: Number(day), category, item }
}

/** Imports the changes of counts before the import. */
export const createQuantityDayImporter = (store: Store): Importer => {
  const rows = createAuditStore(store)
  return importingRows<QuantityDay>({
    rowOf: importedDay,
    find: (accountId, id) => rows.day(accountId, dayPlaceIn(id)),
    isSame: (before, after) =>
      Object.entries(after).every(([key, value]) => before[key as keyof QuantityDay] === value),
    put: rows.putDay,
    remove: rows.removeDay,
  })
}
