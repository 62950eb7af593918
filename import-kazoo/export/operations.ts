import type { Accounts } from '../../src/areas/accounts/accounts/operations.ts'
import type { QuantityReader } from '../../src/areas/billing/services/quantities/operations.ts'
import type { CdrMonths } from '../../src/areas/calls/cdrs/months/operations.ts'
import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import { type AccountRecord, accountKind, masterClaim, secondFactorKind } from '../../src/auth/identity.ts'
import { Failure } from '../../src/lib/failure.ts'
import { unixOfGregorian } from '../../src/lib/gregorian.ts'
import { pagesOf } from '../../src/lib/list.ts'
import { monthOf } from '../../src/lib/time-key.ts'
import { settingsKind } from '../../src/settings/settings.ts'
import { systemScope } from '../../src/storage/change-set.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { Refusal } from '../../src/storage/saved-store.ts'
import type { Store } from '../../src/storage/store.ts'
import { exportMaster } from '../conversions/accounts.rules.ts'
import { exportNumber, isPassing } from '../conversions/numbers.rules.ts'
import { isWithoutPassword } from '../conversions/people.rules.ts'
import { preservedText } from '../conversions/preserved.rules.ts'
import { servicesLeft } from '../conversions/services.rules.ts'
import { accountsSetting } from '../conversions/settings.rules.ts'
import type { PreservedDocument, PreservedDocuments } from '../import-run/preserved-documents.sql.ts'
import { type ExportedDocument, type OwnRecord, textOf } from './document.ts'
import { createExportReport, type ExportFolder, type ExportReport } from './folder.ts'
import {
  createExports,
  type Exports,
  isPartOfOther,
  isSkippedKind,
  mastersSetting,
  type RecordOwner,
} from './kinds.ts'
import {
  createExportRows,
  type ExportRows,
  exportAudit,
  exportCall,
  exportEntry,
  exportStock,
  exportTransaction,
  exportUse,
} from './rows.sql.ts'

// Exports everything that a Kazoo would know.

interface Deps {
  store: Store
  accounts: Pick<Accounts, 'descendants' | 'resellerOf' | 'apiKeyOf'>
  quantities: Pick<QuantityReader, 'of'>
  numbers: Pick<Numbers['store'], 'pageOfSystem' | 'findSeveral'>
  months: Pick<CdrMonths, 'months' | 'documents'>
  keeping: Pick<PreservedDocuments, 'pages'>
}

/** The text of a preserved document exists already. */
type Written = ExportedDocument | { database: string; type: string; text: string }
type Batches = AsyncIterable<readonly Written[]>

type ReportProgress = (told: { chapter: string; database: string; documents: number }) => void
type Report = ReturnType<typeof createExportReport>

const atOnce = 500
// Each may be a megabyte: a photo, a preserved document.
const largeAtOnce = 50
const maxFileBytes = 4_194_304
const joinedSetting = 'crossbar.accounts'
const keptType = ({ type }: PreservedDocument) => `${type || 'no type'} (kept)`

const bytesOf = (documents: readonly ExportedDocument[]) =>
  documents.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes.length, 0)

/** Manual work because of a record, and parts of it that are not exported. */
const reportRecord = ({ kind, doc, hidden }: StoredRecord, report: Report) => {
  if (kind === 'user' && isWithoutPassword(hidden)) report.addCode('password_missing')
  if (kind === 'webhook' && doc.enabled !== false) report.addCode('webhook_on')
  if (kind === 'services') for (const part of servicesLeft(doc)) report.left(`services.${part}`)
  if (kind === secondFactorKind) report.addCode('second_factor_missing')
}

const recordChapters = (
  { store: { records }, accounts, quantities }: Deps,
  rows: ExportRows,
  report: Report,
  master: AccountRecord,
) => {
  const { ofAccount, ofSystem, soldNothing, docAt } = createExports({ records, accounts, quantities, rows })

  async function* exportedRecords(
    batches: AsyncIterable<StoredRecord[]>,
    whose: RecordOwner,
    exports: Exports,
  ) {
    for await (const batch of batches) {
      const documents: ExportedDocument[] = []
      for (const stored of batch.filter(({ kind }) => !isSkippedKind(kind))) {
        reportRecord(stored, report)
        const write = Object.hasOwn(exports, stored.kind) ? exports[stored.kind] : undefined
        const written = (await write?.(stored, whose)) ?? []
        if (written.length === 0 && !isPartOfOther(stored)) report.left(stored.kind)
        documents.push(...written)
        if (bytesOf(documents) >= maxFileBytes) yield documents.splice(0)
      }
      yield documents
    }
  }

  async function* ofOneAccount(account: AccountRecord) {
    const whose = { account, resellerId: await accounts.resellerOf(account) }
    yield* exportedRecords(records.everything(account.id, largeAtOnce), whose, ofAccount)
    if (!(await docAt(account.id, 'services', account.id))) yield [await soldNothing(whose)]
  }

  return {
    async *accounts() {
      yield* ofOneAccount(master)
      for await (const some of accounts.descendants(master))
        for (const account of some) yield* ofOneAccount(account)
    },

    async *settings() {
      const setting = await docAt(systemScope, settingsKind, mastersSetting)
      const joined = await docAt(systemScope, settingsKind, joinedSetting)
      const settings = { ...accountsSetting(setting ?? {}), ...accountsSetting(joined ?? {}) }
      yield [exportMaster(master, settings)]
    },

    shared: () =>
      exportedRecords(records.everything(systemScope), { account: master, resellerId: master.id }, ofSystem),
  }
}

async function* numberDocuments({ numbers }: Deps, rows: ExportRows, report: Report) {
  const pages = pagesOf(atOnce, (last: OwnRecord | undefined) =>
    numbers.pageOfSystem(undefined, last?.id ?? '', atOnce),
  )
  for await (const page of pages) {
    for (const { state } of page.filter(isPassing)) report.left(`number ${state}`)
    const stable = page.filter((number) => !isPassing(number))
    yield stable.flatMap((number) => exportNumber(number, number))
  }
  for await (const some of rows.stock()) yield some.flatMap(exportStock)
}

const rowChapters = ({ store: { records }, months }: Deps, rows: ExportRows, report: Report) => {
  /** Rows of deleted accounts are left out. */
  async function* exportedRows<R extends { accountId: string }>(
    batches: AsyncIterable<R[]>,
    documentOf: (row: R) => ExportedDocument,
  ) {
    for await (const some of batches) {
      const documents: ExportedDocument[] = []
      for (const row of some)
        if (await records.find(row.accountId, accountKind, row.accountId)) documents.push(documentOf(row))
      yield documents
    }
  }

  return {
    ledgers: () => exportedRows(rows.entries(), exportEntry),
    transactions: () =>
      exportedRows(rows.transactions(), (row) => {
        if (row.status === 'pending' || row.status === 'unknown') report.addCode('payment_pending')
        return exportTransaction(row)
      }),
    'service audits': () => exportedRows(rows.audits(), exportAudit),
    allotments: () =>
      exportedRows(rows.uses(), (use) => exportUse(use, Number(monthOf(unixOfGregorian(use.minute) * 1000)))),

    async *'call records'() {
      for (const month of await months.months()) {
        try {
          yield* exportedRows(months.documents(month), exportCall)
        } catch (error) {
          if (!(error instanceof Failure)) throw error
          throw new Refusal(`the call records of ${month} were moved during the export: export again`)
        }
      }
    },
  }
}

/** A record made later replaces a preserved document. */
async function* preservedDocuments({ numbers, keeping, store: { records } }: Deps, report: Report) {
  for await (const some of keeping.pages(largeAtOnce)) {
    const inShards = some.filter(({ database }) => database.startsWith('numbers/+'))
    const known = await numbers.findSeveral(inShards.map(({ id }) => id))
    const documents: Written[] = []
    for (const one of some) {
      const { accountId, database, type, id } = one
      const isReplaced =
        (inShards.includes(one) && known.has(id)) ||
        (type === 'account_config' && (await records.find(accountId, type, id)) !== undefined)
      if (isReplaced) report.left(keptType(one))
      else documents.push({ database, type: keptType(one), text: preservedText(one.text, one.files) })
    }
    yield documents
  }
}

const findMaster = async ({ records }: Store) => {
  const holder = await records.claimant(masterClaim)
  const master = holder && (await records.find(holder.accountId, accountKind, holder.accountId))
  if (!master) throw new Refusal('the store has no master account: there is nothing to export')
  return master
}

export const createExport =
  (deps: Deps) =>
  async (folder: ExportFolder, onWritten: ReportProgress = () => undefined): Promise<ExportReport> => {
    const report = createExportReport()
    const rows = createExportRows(deps.store)
    const master = await findMaster(deps.store)
    const chapters: Readonly<Record<string, () => Batches>> = {
      ...recordChapters(deps, rows, report, master),
      numbers: () => numberDocuments(deps, rows, report),
      ...rowChapters(deps, rows, report),
      'kept documents': () => preservedDocuments(deps, report),
    }
    for (const [chapter, documents] of Object.entries(chapters))
      for await (const batch of documents()) {
        for (const [database, some] of Map.groupBy(batch, (one) => one.database)) {
          await folder.add(
            database,
            some.map((one) => ('text' in one ? one.text : textOf(one))),
          )
          onWritten({ chapter, database, documents: some.length })
        }
        for (const { type } of batch) report.wrote(type)
      }
    return report.whole(await folder.finish())
  }
