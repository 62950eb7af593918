import type { AccountRecord } from '../../auth/identity.ts'
import type { Route } from '../../http/route.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Round } from '../../jobs/rounds.ts'
import type { Log } from '../../lib/log.ts'
import type { Mail } from '../../mail/mail.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../storage/store.ts'
import type { ServiceAudit } from './audit/operations.ts'
import { createBilling } from './billing/operations.ts'
import type { Bookkeepers } from './bookkeepers.ts'
import type { Books } from './books.ts'
import type { Ledgers } from './ledgers/operations.ts'
import type { Services } from './operations.ts'
import { createPaymentTokens } from './payment-tokens/operations.ts'
import { paymentTokenRoutes } from './payment-tokens/routes.ts'
import type { Synchronization } from './synchronization/operations.ts'
import { synchronizationRoutes } from './synchronization/routes.ts'
import { createTopups } from './topup/operations.ts'
import { topupRoutes } from './topup/routes.ts'
import { lowBalanceThreshold } from './topup/rules.ts'
import { createManualTransactions } from './transactions/manual.ts'
import { createTransactions } from './transactions/operations.ts'
import { transactionRoutes } from './transactions/routes.ts'

interface Tools {
  store: Store
  settings: Settings
  books: Books
  bookkeepers: Bookkeepers
  ledgers: Ledgers
  audit: ServiceAudit
  services: Services
  synchronization: Synchronization
  mail: Mail
  queue: Queue
  log: Log
}

export type Payments = ReturnType<typeof createPayments>

/** How money comes in: by hand, by itself, and every month. */
export const createPayments = (tools: Tools) => {
  const { bookkeepers, ledgers, services, settings, synchronization, store } = tools
  const transactions = createTransactions(tools)
  const manual = createManualTransactions({ transactions, bookkeepers })
  const topups = createTopups({ ...tools, transactions })
  const billing = createBilling({ ...tools, transactions })
  const tokens = createPaymentTokens(tools)
  const routes: Route[] = [
    ...transactionRoutes({ transactions, manual, billing, ledgers, services, settings, clock: store.clock }),
    ...topupRoutes(topups, services.sellerOf),
    ...paymentTokenRoutes(tokens),
    ...synchronizationRoutes(synchronization),
  ]
  const toDo: Round[] = [transactions.round, topups.round, billing.round, synchronization.round]

  return {
    transactions,
    topups,
    billing,
    tokens,
    routes,
    rounds: toDo,
    leaving: synchronization.leaving,

    /** Whether an account is charged by a bookkeeper that needs a payment method for it. */
    async needsToken(account: AccountRecord): Promise<boolean> {
      return bookkeepers.gateway(await bookkeepers.of(account))?.capabilities.tokens === true
    },

    /** The payment method that is charged, with its expiration. */
    async defaultToken(account: AccountRecord) {
      return bookkeepers.token(account.id, await bookkeepers.of(account))
    },

    /** Units below which the account says that its balance is low. */
    threshold: ({ doc: { notifications, topup } }: AccountRecord) =>
      lowBalanceThreshold({ notifications, topup }),
  }
}
