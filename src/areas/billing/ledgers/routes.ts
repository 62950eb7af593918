import type { AccountRecord } from '../../../auth/identity.ts'
import { accountMember, ownReseller } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { answer, ListResponse } from '../../../http/response/responses.ts'
import { openWindowQuery, usualTimeWindow } from '../../../http/response/time-window.ts'
import { type Call, get, put, type Route } from '../../../http/route.ts'
import { notEnoughCredit, type Problems } from '../../../lib/failure.ts'
import { isTrue } from '../../../lib/json.ts'
import { decimalProblems, dollarsOfUnits } from '../../../lib/money.ts'
import { anyObject, list as listOf } from '../../../lib/schema.ts'
import type { TimeWindow } from '../../../lib/time-bounds.ts'
import { timeKey } from '../../../lib/time-key.ts'
import type { CommittedChange } from '../../../storage/idempotency.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import { servicesSettings } from '../services/settings.ts'
import { bookedAlready } from './failures.ts'
import type { Ledgers } from './operations.ts'
import { csvRow, entryJson, type LedgerEntryRow, rolloverService } from './rules.ts'
import { Amount, LedgerEntry, LedgerKind, LedgerRequest } from './schema.ts'

const base = '/v2/accounts/{account_id}/ledgers'

const availableLedgers = [
  { name: 'per-minute-voip', friendly_name: 'Per Minute VoIP', markup_type: ['percentage'] },
  { name: 'services', friendly_name: 'Services', markup_type: [] },
  { name: 'prorations', friendly_name: 'Prorations', markup_type: [] },
  { name: 'taxes', friendly_name: 'Taxes', markup_type: [] },
  { name: 'payments', friendly_name: 'Payments', markup_type: [] },
  { name: 'rollovers', friendly_name: 'Rollovers', markup_type: [] },
]

interface Requested {
  amount?: unknown
  source?: { service?: unknown }
  draft?: unknown
}

const requestProblems = async ({
  data: { amount, source, draft },
}: {
  data: Requested
}): Promise<Problems> => ({
  ...(draft === true && {
    draft: { forbidden: { message: 'Entries are booked immediately: drafts are not possible' } },
  }),
  ...decimalProblems('amount', amount),
  // Only the month change books rollovers.
  ...(source?.service === rolloverService && {
    'source.service': {
      forbidden: {
        message: `Balances are carried over automatically: ${rolloverService} cannot be booked`,
        value: source.service,
      },
    },
  }),
})

export const ledgerRoutes = (
  ledgers: Ledgers,
  accounts: Accounts,
  deps: DepsOf<'settings' | 'store'>,
): Route[] => {
  const entriesOf = (accountId: string, service: string, window: TimeWindow): Listing<LedgerEntryRow> => ({
    page: (request) => ledgers.page({ accountId, service, ...window, ...request }),
    cursor: ({ created, ordinal }) => [timeKey(created), String(ordinal)],
    row: (entry) => JSON.stringify(entryJson(entry)),
    flat: csvRow,
    record: entryJson,
  })

  /** The reseller, if its ledger is to move too. */
  const impactedBy = async ({ account, envelope }: Pick<Call, 'account' | 'envelope'>) => {
    if (!isTrue(envelope.impact_reseller)) return undefined
    return accounts.get(await accounts.resellerOf(account))
  }

  type Booked = { account: AccountRecord; entry: LedgerEntryRow }

  const impactJson = async ({ account, entry }: Booked) => ({
    ledger: entryJson(entry),
    available_dollars: dollarsOfUnits(await ledgers.balance(account.id)),
    is_reseller: account.hidden.isReseller,
  })

  /** One entry, or that of each account whose ledger moved. */
  const bookedAnswer = async (booked: readonly Booked[]) => {
    const [own] = booked
    if (booked.length === 1 && own) return answer({ data: entryJson(own.entry), created: own.entry.id })
    const rows = await Promise.all(booked.map(async (one) => [one.account.id, await impactJson(one)]))
    return Object.fromEntries(rows)
  }

  const book = (sign: 1 | -1) => async (call: Call<typeof base, LedgerRequest>) => {
    const { author, account, data } = call
    return bookedAnswer(await ledgers.book(author, account, data, sign, await impactedBy(call)))
  }

  const bookAgain = async (_: unknown, changes: readonly CommittedChange[]) =>
    bookedAnswer(
      await Promise.all(
        changes
          .filter(({ kind }) => kind === 'ledger')
          .map(async ({ account_id: accountId, id }) => ({
            account: await accounts.get(accountId),
            entry: await ledgers.get(accountId, id),
          })),
      ),
    )

  const booking = {
    allow: ownReseller,
    body: LedgerRequest,
    judge: requestProblems,
    answers: anyObject(),
    fails: [bookedAlready, notEnoughCredit] as const,
    again: bookAgain,
  }

  return [
    get(base, {
      summary: 'Read the sum of each ledger of an account in a time range',
      isLong: true,
      allow: accountMember,
      query: openWindowQuery,
      answers: anyObject(),
      run: async (call) => {
        const { from, to } = await usualTimeWindow(deps, call.query)
        return ledgers.sums(call.account.id, from, to)
      },
    }),
    get(`${base}/available`, {
      summary: 'List the names of the ledgers',
      allow: accountMember,
      answers: listOf(LedgerKind),
      run: () => availableLedgers,
    }),
    get(`${base}/total`, {
      summary: 'Read the balance of an account; metadata.currency is the currency',
      allow: accountMember,
      answers: Amount,
      run: async ({ account }) => {
        const { currency } = await deps.settings.of(servicesSettings)
        return answer({
          data: { amount: dollarsOfUnits(await ledgers.balance(account.id)) },
          metadata: { currency },
        })
      },
    }),
    get(`${base}/summary/{month}`, {
      summary: 'Read the ledgers of a month (YYYYMM), in total and by account',
      isLong: true,
      allow: accountMember,
      answers: anyObject(),
      run: ({ account, path }) => ledgers.summary(account.id, path.month),
    }),
    get(`${base}/{source}`, {
      summary: 'List the entries of a ledger',
      allow: accountMember,
      query: openWindowQuery,
      answers: LedgerEntry,
      list: true,
      run: async (call) =>
        new ListResponse(
          entriesOf(call.account.id, call.path.source, await usualTimeWindow(deps, call.query)),
        ),
    }),
    get(`${base}/{source}/{entry_id}`, {
      summary: 'Read an entry of a ledger',
      record: { kind: 'ledger' },
      allow: accountMember,
      answers: LedgerEntry,
      run: async ({ account, path }) =>
        answer({ data: entryJson(await ledgers.get(account.id, path.entry_id, path.source)) }),
    }),
    put(`${base}/credit`, { summary: 'Credit an account', ...booking, run: book(1) }),
    put(`${base}/debit`, { summary: 'Debit an account', ...booking, run: book(-1) }),
  ]
}
