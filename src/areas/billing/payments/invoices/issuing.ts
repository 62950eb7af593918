import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../../auth/identity.ts'
import { daySeconds, gregorianNow } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { LedgerEntryRow } from '../../ledgers/rules.ts'
import type { Invoice as PricedInvoice } from '../../services/pricing/invoices.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'
import { bookkeeperKey } from '../../services/rules.ts'
import { servicesSettings } from '../../services/settings.ts'
import type { PaymentDeps } from '../deps.ts'
import { invoiceSettings } from '../settings.ts'
import {
  amountDue,
  type DocumentParty,
  entryLine,
  entryTax,
  type InvoiceDoc,
  type InvoiceDocument,
  type InvoiceLine,
  itemisedSources,
  monthPeriod,
  numberPrefix,
  partyOf,
  recurringLines,
  recurringTaxes,
  seriesOf,
  taxesTogether,
  totalOf,
  type UsageSum,
  usageLine,
} from './rules.ts'
import type { InvoiceStore, Issue } from './store.ts'

/** Ledger entries of past months that are on no document. */
interface Extras {
  entries: readonly LedgerEntryRow[]
  usage: readonly UsageSum[]
}

/** The content of one invoice. */
export interface Sheet {
  bookkeeper: Bookkeeper
  /** Absent if the bookkeeper bills the month itself, or the month costs nothing. */
  priced?: PricedInvoice
  extras: Extras
}

export interface Composed {
  id: string
  issuerId: string
  doc: InvoiceDoc
}

const noExtras: Extras = { entries: [], usage: [] }

const isLine = ({ source }: LedgerEntryRow): boolean =>
  source.service === 'services' || source.service === 'prorations'

const extraLine = (entry: LedgerEntryRow): InvoiceLine =>
  entryLine(entry, entry.source.service === 'prorations' ? 'prorations' : 'services')

/** The content of invoices: the same for a document and its draft. */
const createComposing = (deps: PaymentDeps, rows: InvoiceStore) => {
  const { store, settings, books, bookkeepers, ledgers, accounts, whitelabel } = deps
  const { clock } = store

  const monthlyOf = (bookkeeper: Bookkeeper) =>
    bookkeepers.gateway(bookkeeper)?.capabilities.monthly ?? 'outside'

  const nameOf = async (id: string) => (await books.account(id))?.doc.name ?? id

  const usageLines = ({ id }: AccountRecord, usage: readonly UsageSum[]) =>
    Promise.all(
      usage.map(async (sum) =>
        usageLine(sum, sum.forAccountId === id ? undefined : await nameOf(sum.forAccountId)),
      ),
    )

  const issuerOf = async (account: AccountRecord): Promise<DocumentParty> => {
    const id = await accounts.resellerOf(account)
    const issuer = await books.account(id)
    const party = issuer ? partyOf(issuer) : { id, name: id }
    return { ...party, name: (await whitelabel.companyNameOf(id)) || party.name }
  }

  /** The same id for a draft and its document. */
  const idOf = (accountId: string, month: number, bookkeeper: Bookkeeper) =>
    `${month}-${hash('md5', JSON.stringify([accountId, bookkeeperKey(bookkeeper)]), 'hex')}`

  return {
    /**
     * The invoices of a month, one for each bookkeeper that has not `billed` it. Other ledger entries are on the
     * first.
     */
    async sheets(account: AccountRecord, month: number, billed: ReadonlySet<string> = new Set()) {
      const priced = (await books.invoices(account)).filter(
        ({ bookkeeper, total }) =>
          total > 0 && monthlyOf(bookkeeper) !== 'outside' && !billed.has(bookkeeperKey(bookkeeper)),
      )
      const extras = {
        entries: await ledgers.withoutDocument(account.id, itemisedSources, month),
        usage: await rows.usageBefore(account.id, month),
      }
      const sheets = priced.map((invoice, index) => ({
        bookkeeper: invoice.bookkeeper,
        priced: invoice,
        extras: index === 0 ? extras : noExtras,
      }))
      if (sheets.length > 0 || extras.entries.length + extras.usage.length === 0) return sheets
      return [{ bookkeeper: await bookkeepers.of(account), extras }]
    },

    async compose(account: AccountRecord, { bookkeeper, priced, extras }: Sheet, month: number) {
      const { entries, usage } = extras
      const { currency } = await settings.of(servicesSettings)
      const { due_days: days } = await settings.of(invoiceSettings)
      const items = [
        ...(priced ? recurringLines(priced) : []),
        ...entries.filter(isLine).map(extraLine),
        ...(await usageLines(account, usage)),
      ]
      const taxes = taxesTogether([
        ...(priced ? recurringTaxes(priced) : []),
        ...entries.filter((entry) => !isLine(entry)).map(entryTax),
      ])
      const collection = monthlyOf(bookkeeper) === 'charge' ? 'charge' : 'balance'
      const issuer = await issuerOf(account)
      const total = totalOf(items, taxes)
      const balance = await ledgers.balance(account.id)
      const doc: InvoiceDoc = {
        account: partyOf(account),
        issuer,
        bookkeeper,
        collection,
        currency,
        period: monthPeriod(month),
        due: gregorianNow(clock) + days * daySeconds,
        items,
        taxes,
        total,
        amountDue: amountDue({ total, fresh: priced?.total ?? 0, balance, collection }),
      }
      return { id: idOf(account.id, month, bookkeeper), issuerId: issuer.id, doc }
    },
  }
}

/** The job that mails an invoice, after the commit that gives it its number. */
export const invoiceMailKind = 'invoice_mail'

/** The job that collects an unpaid invoice. */
export const dunningKind = 'dunning'

export interface AboutInvoice {
  accountId: string
  invoiceId: string
}

interface Issuing {
  composed: Composed
  sheet: Sheet
  month: number
  /** Entries of the ledger that are booked with it. */
  entryIds: readonly string[]
  /** The transaction that charges it, if any. */
  attempt: string
}

export type InvoiceIssuing = ReturnType<typeof createInvoiceIssuing>

/** Makes documents of what is booked. */
export const createInvoiceIssuing = (deps: PaymentDeps, rows: InvoiceStore) => {
  const { settings } = deps
  const { clock } = deps.store

  const prefixFor = async (issuerId: string) => {
    const { number_prefix: common, vendors } = await settings.of(invoiceSettings)
    return numberPrefix(vendors[issuerId]?.number_prefix ?? common, clock.now())
  }

  const follow = (
    set: ChangeSet,
    { accountId, id, status, attempt }: Pick<InvoiceDocument, 'accountId' | 'id' | 'status' | 'attempt'>,
  ) => {
    const payload: AboutInvoice = { accountId, invoiceId: id }
    const job = { id: `${accountId}/${id}`, accountId, payload }
    set.job({ ...job, kind: invoiceMailKind })
    // Without a charge nothing happens before money comes or the invoice is due.
    if (status === 'open')
      set.job({
        ...job,
        kind: dunningKind,
        dueAt: clock.now() + (attempt === '' ? firstDunningMs : chargeMs),
      })
  }

  /** The parts of a document other than its content. */
  const frame = async <Doc>(
    kind: 'invoice' | 'credit_note',
    document: Pick<Issue<Doc>, 'accountId' | 'id' | 'issuerId' | 'doc'>,
  ): Promise<Issue<Doc>> => ({
    ...document,
    series: seriesOf(kind, clock.now()),
    prefix: await prefixFor(document.issuerId),
    issued: gregorianNow(clock),
  })

  return {
    ...createComposing(deps, rows),
    frame,

    async issue(set: ChangeSet, { composed, sheet, month, entryIds, attempt }: Issuing) {
      const { id, issuerId, doc } = composed
      const accountId = doc.account.id
      const status = doc.amountDue > 0 ? 'open' : 'paid'
      const invoice = { accountId, id, status, attempt } as const
      rows.issue(set, await frame('invoice', { accountId, id, issuerId, doc }), { month, status, attempt })
      rows.cover(set, {
        accountId,
        documentId: id,
        entryIds: [...sheet.extras.entries.map((entry) => entry.id), ...entryIds],
        usage: sheet.extras.usage,
      })
      rows.tell(set, invoice, 'issued', { amount_due: dollarsOfUnits(doc.amountDue) })
      if (status === 'paid') rows.tell(set, invoice, 'paid', { by: 'balance' })
      follow(set, invoice)
    },
  }
}

// The end of a charge runs the dunning at once. This is for a charge whose end is never reported.
const chargeMs = 3_600_000
const firstDunningMs = 24 * 3_600_000
