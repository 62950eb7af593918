import type { Accounts } from '../../src/areas/accounts/accounts/operations.ts'
import type { QuantityReader } from '../../src/areas/billing/services/quantities/operations.ts'
import type { CdrMonths } from '../../src/areas/calls/cdrs/months/operations.ts'
import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import { type AccountRecord, accountKind, masterClaim, secondFactorKind } from '../../src/auth/identity.ts'
import { Failure } from '../../src/lib/failure.ts'
import { unixOfGregorian } from '../../src/lib/gregorian.ts'
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
import { inPages } from '../import-run/at-once.ts'
import type { PreservedDocument, PreservedDocuments } from '../import-run/preserved-documents.sql.ts'
import { type ExportedDocument, type OwnRecord, textOf } from './document.ts'
import { createExportReport, type ExportFolder, type ExportReport } from './folder.ts'
import type { Exports, RecordOwner } from './kinds.ts'
import { createExports, isPartOfOther, isSkippedKind, mastersSetting, ownRecord } from './kinds.ts'
import {
  createExportRows,
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

type ReportProgress = (told: { chapter: string; database: string; documents: number }) => void

const atOnce = 500
// Each may be a megabyte: a photo, a preserved document.
const largeAtOnce = 50
const maxFileBytes = 4_194_304
const joinedSetting = 'crossbar.accounts'
const keptType = ({ type }: PreservedDocument) => `${type || 'no type'} (kept)`

const bytesOf = (documents: readonly ExportedDocument[]) =>
  documents.flatMap(({ files }) => files).reduce((sum, { bytes }) => sum + bytes.length, 0)

export const createExport = ({ store, accounts, quantities, numbers, months, keeping }: Deps) => {
  const { records } = store
  const rows = createExportRows(store)
  const { ofAccount, ofSystem, soldNothing, docAt } = createExports({ store, accounts, quantities, rows })

  const findMaster = async () => {
    const holder = await records.claimant(masterClaim)
    const master = holder && (await records.find(holder.accountId, accountKind, holder.accountId))
    if (!master) throw new Refusal('the store has no master account: there is nothing to export')
    return master
  }

  return async (
    folder: Pick<ExportFolder, 'add' | 'finish'>,
    onWritten: ReportProgress = () => undefined,
  ): Promise<ExportReport> => {
    const report = createExportReport()
    const master = await findMaster()

    const writeTexts = async (
      chapter: string,
      all: readonly { database: string; type: string; text: string }[],
    ) => {
      for (const [database, some] of Map.groupBy(all, (one) => one.database)) {
        const texts = some.map(({ text }) => text)
        await folder.add(database, texts)
        onWritten({ chapter, database, documents: some.length })
      }
      for (const { type } of all) report.wrote(type)
    }

    const write = async (chapter: string, documents: readonly ExportedDocument[]) => {
      const texts = documents.map((one) => ({ database: one.database, type: one.type, text: textOf(one) }))
      await writeTexts(chapter, texts)
    }

    const reportCodes = (kind: string, record: OwnRecord) => {
      if (kind === 'user' && isWithoutPassword(record)) report.addCode('password_missing')
      if (kind === 'webhook' && record.doc.enabled !== false) report.addCode('webhook_on')
      if (kind === 'services') for (const part of servicesLeft(record.doc)) report.left(`services.${part}`)
      if (kind === secondFactorKind) report.addCode('second_factor_missing')
    }

    const documentsOf = async (
      stored: StoredRecord,
      whose: RecordOwner,
      exports: Exports,
    ): Promise<ExportedDocument[]> => {
      const { kind } = stored
      if (isSkippedKind(kind)) return []
      const record = ownRecord(stored)
      reportCodes(kind, record)
      const write = Object.hasOwn(exports, kind) ? exports[kind] : undefined
      const documents = write ? await write(record, whose) : []
      if (documents.length === 0 && !isPartOfOther(stored)) report.left(kind)
      return documents
    }

    const writeRecords = async (
      chapter: string,
      batch: readonly StoredRecord[],
      whose: RecordOwner,
      exports: Exports,
    ) => {
      const documents: ExportedDocument[] = []
      for (const stored of batch) {
        documents.push(...(await documentsOf(stored, whose, exports)))
        if (bytesOf(documents) >= maxFileBytes) await write(chapter, documents.splice(0))
      }
      await write(chapter, documents)
    }

    const writeAccount = async (account: AccountRecord) => {
      const whose = { account, resellerId: await accounts.resellerOf(account) }
      let hasServices = false
      for await (const batch of records.everything(account.id, largeAtOnce)) {
        hasServices ||= batch.some(({ kind }) => kind === 'services')
        await writeRecords('accounts', batch, whose, ofAccount)
      }
      if (!hasServices) await write('accounts', [await soldNothing(whose)])
    }

    const writeSystem = async () => {
      const setting = await docAt(systemScope, settingsKind, mastersSetting)
      const joined = await docAt(systemScope, settingsKind, joinedSetting)
      const settings = { ...accountsSetting(setting ?? {}), ...accountsSetting(joined ?? {}) }
      await write('settings', [exportMaster(ownRecord(master), settings)])
      const whose = { account: master, resellerId: master.id }
      for await (const batch of records.everything(systemScope))
        await writeRecords('shared', batch, whose, ofSystem)
    }

    const writeNumbers = async () => {
      const read = (after: string) => numbers.pageOfSystem(undefined, after, atOnce)
      for await (const page of inPages(atOnce, '', read, ({ id }) => id)) {
        const { true: left = [], false: rest = [] } = Object.groupBy(page, (one) => `${isPassing(one)}`)
        for (const { state } of left) report.left(`number ${state}`)
        await write(
          'numbers',
          rest.flatMap((number) => exportNumber(ownRecord(number), number)),
        )
      }
      for await (const some of rows.stock()) await write('numbers', some.flatMap(exportStock))
    }

    const writeRows = async <R extends { accountId: string }>(
      chapter: string,
      batches: AsyncIterable<R[]>,
      documentOf: (row: R) => ExportedDocument,
    ) => {
      for await (const some of batches) {
        const documents: ExportedDocument[] = []
        for (const row of some)
          if (await records.find(row.accountId, accountKind, row.accountId)) documents.push(documentOf(row))
        await write(chapter, documents)
      }
    }

    const writeMoney = async () => {
      await writeRows('ledgers', rows.entries(), exportEntry)
      await writeRows('transactions', rows.transactions(), (row) => {
        if (row.status === 'pending' || row.status === 'unknown') report.addCode('payment_pending')
        return exportTransaction(row)
      })
      await writeRows('service audits', rows.audits(), exportAudit)
      await writeRows('allotments', rows.uses(), (use) =>
        exportUse(use, Number(monthOf(unixOfGregorian(use.minute) * 1000))),
      )
    }

    const writeCalls = async () => {
      for (const month of await months.months()) {
        try {
          await writeRows('call records', months.documents(month), exportCall)
        } catch (error) {
          if (!(error instanceof Failure)) throw error
          throw new Refusal(`the call records of ${month} went elsewhere meanwhile: export once more`)
        }
      }
    }

    /** A record made later replaces a preserved document. */
    const withoutReplaced = async (some: readonly PreservedDocument[]): Promise<PreservedDocument[]> => {
      const inShards = some.filter(({ database }) => database.startsWith('numbers/+'))
      const known = await numbers.findSeveral(inShards.map(({ id }) => id))
      const left: PreservedDocument[] = []
      for (const one of some) {
        const isNumber = inShards.includes(one) && known.has(one.id)
        const isConfig =
          one.type === 'account_config' && (await docAt(one.accountId, one.type, one.id)) !== undefined
        if (!isNumber && !isConfig) left.push(one)
        else report.left(keptType(one))
      }
      return left
    }

    const writeKept = async () => {
      for await (const some of keeping.pages(largeAtOnce))
        await writeTexts(
          'kept documents',
          (await withoutReplaced(some)).map((one) => ({
            database: one.database,
            type: keptType(one),
            text: preservedText(one.text, one.files),
          })),
        )
    }

    await writeAccount(master)
    for await (const some of accounts.descendants(master))
      for (const account of some) await writeAccount(account)
    await writeSystem()
    await writeNumbers()
    await writeMoney()
    await writeCalls()
    await writeKept()
    return report.whole(await folder.finish())
  }
}
