import type { Route } from '../../http/route.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Round } from '../../jobs/rounds.ts'
import type { Log } from '../../lib/log.ts'
import type { Mail } from '../../mail/mail.ts'
import type { Gateways } from '../../payment/gateways.ts'
import type { Settings } from '../../settings/settings.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import type { Gate, Store } from '../../storage/store.ts'
import type { Accounts } from '../accounts/operations.ts'
import { createServiceAudit } from './audit/operations.ts'
import { serviceAuditRoutes } from './audit/routes.ts'
import { createBookkeepers } from './bookkeepers.ts'
import { createBooks } from './books.ts'
import { createConsent } from './consent.ts'
import { type Booked, createLedgers, type Overdraft } from './ledgers/operations.ts'
import { ledgerRoutes } from './ledgers/routes.ts'
import { createServices } from './operations.ts'
import { createPayments } from './payments.ts'
import { createPlans } from './plans/operations.ts'
import { planRoutes } from './plans/routes.ts'
import { createPriceBook } from './price-book.ts'
import type { QuantityBook } from './quantities/operations.ts'
import { type CountSource, createReconciliation } from './reconciliation.ts'
import { servicesRoutes } from './routes.ts'
import { createStandings } from './standing.ts'
import { createSynchronization, createTelling } from './synchronization/operations.ts'

interface Tools {
  store: Store
  settings: Settings
  accounts: Accounts
  quantities: QuantityBook
  gateways: Gateways
  mail: Mail
  queue: Queue
  log: Log
  overdraft: Overdraft
  /** Called whenever an account's balance changes, with the change set in which it does. */
  balanceMoved(set: ChangeSet, account: Booked): void
  /** Where what accounts have is counted from. */
  counts: readonly CountSource[]
}

/** Everything about what accounts are sold and what they pay, put together. */
export const createServiceArea = (tools: Tools) => {
  const { store, settings, accounts, quantities, overdraft, counts } = tools
  const plans = createPlans(tools)
  const priceBook = createPriceBook({ plans, accounts, settings })
  const books = createBooks({ store, priceBook, quantities })
  const bookkeepers = createBookkeepers({ ...tools, books, priceBook })
  const standings = createStandings({ books, settings, bookkeepers })
  const tell = createTelling(tools)
  const audit = createServiceAudit({ ...tools, tell })
  const ledgers = createLedgers({
    store,
    accounts,
    audit,
    overdraft,
    spent: (set, account) => payments.topups.spent(set, account),
    moved: tools.balanceMoved,
  })
  const synchronization = createSynchronization({ ...tools, tell, books, bookkeepers })
  const services = createServices({
    store,
    accounts,
    plans,
    books,
    priceBook,
    quantities,
    standings,
    audit,
    isDirty: synchronization.isDirty,
  })
  const payments = createPayments({ ...tools, books, bookkeepers, ledgers, audit, services, synchronization })
  const reconciliation = createReconciliation({ store, quantities, sources: counts })
  const consent: Gate = createConsent({ store, books, quantities, standings, audit, ledgers })
  const routes: Route[] = [
    ...serviceAuditRoutes({ audit, settings, clock: store.clock }),
    ...servicesRoutes(services, reconciliation),
    ...planRoutes(plans),
    ...ledgerRoutes({ ledgers, accounts, settings, clock: store.clock }),
    ...payments.routes,
  ]
  const rounds: Round[] = [ledgers.round, ...payments.rounds]
  return {
    services,
    plans,
    books,
    standings,
    audit,
    ledgers,
    payments,
    reconciliation,
    consent,
    routes,
    rounds,
  }
}
