import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../../auth/identity.ts'
import type { ResellerOf } from '../../../../auth/policies.ts'
import { daySeconds, gregorianNow } from '../../../../lib/gregorian.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Entry } from '../../ledgers/rules.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { PricingData } from '../../services/books.ts'
import type { Invoice as PricedInvoice } from '../../services/pricing/invoices.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'
import { servicesSettings } from '../../services/settings.ts'
import { bookkeeperKey } from '../../services/synchronization/rules.ts'
import { invoiceSettings } from '../settings.ts'
import {
  amountDue,
  entryLine,
  entryTax,
  type InvoiceDoc,
  type InvoiceLine,
  monthPeriod,
  type Party,
  partyOf,
  recurringLines,
  recurringTaxes,
  taxesTogether,
  totalOf,
  type UsageSum,
  usageLine,
} from './rules.ts'
import type { InvoiceStore } from './store.ts'

interface Deps {
  store: Store
  settings: Settings
  books: PricingData
  bookkeepers: Bookkeepers
  ledgers: Pick<Ledgers, 'balance'>
  rows: InvoiceStore
  /** The account that sells to another. */
  resellerOf: ResellerOf
  /** `company_name` of the account's brand. */
  companyNameOf(accountId: string): Promise<string | undefined>
}

/** What the ledger holds of months that have ended, and no document has yet. */
interface Extras {
  entries: readonly Entry[]
  usage: readonly UsageSum[]
}

/** What is to stand on one invoice. */
export interface Sheet {
  bookkeeper: Bookkeeper
  /** Absent where the bookkeeper bills the month by itself, or there is nothing to pay for it. */
  priced?: PricedInvoice
  extras: Extras
}

export interface Composed {
  id: string
  issuerId: string
  doc: InvoiceDoc
}

const none: Extras = { entries: [], usage: [] }

const isLine = ({ source }: Entry): boolean =>
  source.service === 'services' || source.service === 'prorations'

const lineOf = (entry: Entry): InvoiceLine =>
  entryLine(entry, entry.source.service === 'prorations' ? 'prorations' : 'services')

export type Composing = ReturnType<typeof createComposing>

/** What stands on the invoices of an account: the same for the document that is issued and for the draft of it. */
export const createComposing = (tools: Deps) => {
  const { store, settings, books, bookkeepers, ledgers, rows, resellerOf, companyNameOf } = tools
  const { clock } = store

  const monthlyOf = (bookkeeper: Bookkeeper) =>
    bookkeepers.gateway(bookkeeper)?.capabilities.monthly ?? 'outside'

  const nameOf = async (id: string) => (await books.account(id))?.doc.name ?? id

  const usageLines = ({ id }: AccountRecord, usage: readonly UsageSum[]) =>
    Promise.all(
      usage.map(async (sum) => {
        const period = monthPeriod(sum.month)
        return usageLine(
          sum,
          sum.forAccountId === id ? { period } : { period, about: await nameOf(sum.forAccountId) },
        )
      }),
    )

  const issuerOf = async (account: AccountRecord): Promise<Party> => {
    const id = await resellerOf(account)
    const issuer = await books.account(id)
    const party = issuer ? partyOf(issuer) : { id, name: id }
    return { ...party, name: (await companyNameOf(id)) || party.name }
  }

  /** The same for a draft and for what becomes of it. */
  const idOf = (accountId: string, month: number, bookkeeper: Bookkeeper) =>
    `${month}-${hash('md5', JSON.stringify([accountId, bookkeeperKey(bookkeeper)]), 'hex')}`

  return {
    /**
     * The invoices of a month: one for each bookkeeper that has not `billed` it. What else the ledger holds stands on
     * the first.
     */
    async sheets(
      account: AccountRecord,
      month: number,
      billed: ReadonlySet<string> = new Set(),
    ): Promise<Sheet[]> {
      const priced = (await books.invoices(account)).filter(
        ({ bookkeeper, total }) =>
          total > 0 && monthlyOf(bookkeeper) !== 'outside' && !billed.has(bookkeeperKey(bookkeeper)),
      )
      const extras = {
        entries: await rows.entriesBefore(account.id, month),
        usage: await rows.usageBefore(account.id, month),
      }
      const sheets = priced.map((invoice, index) => ({
        bookkeeper: invoice.bookkeeper,
        priced: invoice,
        extras: index === 0 ? extras : none,
      }))
      if (sheets.length > 0 || extras.entries.length + extras.usage.length === 0) return sheets
      return [{ bookkeeper: await bookkeepers.of(account), extras }]
    },

    async compose(
      account: AccountRecord,
      { bookkeeper, priced, extras }: Sheet,
      month: number,
    ): Promise<Composed> {
      const { entries, usage } = extras
      const { currency } = await settings.of(servicesSettings)
      const { due_days: days } = await settings.of(invoiceSettings)
      const items = [
        ...(priced ? recurringLines(priced) : []),
        ...entries.filter(isLine).map(lineOf),
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
