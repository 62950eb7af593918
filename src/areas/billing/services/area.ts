import { createGateways } from '../../../payment/gateways.ts'
import { httpSyncSettings, stripeSettings } from '../../../payment/settings.ts'
import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { accountDeleted, accountMoved } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import {
  createQuantityDayImporter,
  createServiceAudit,
  createServiceAuditImporter,
} from './audit/operations.ts'
import { serviceAuditRoutes } from './audit/routes.ts'
import { createBookkeepers, createPaymentStatuses } from './bookkeepers.ts'
import { createPricingData } from './books.ts'
import { createCharged } from './charged.ts'
import { createConsent } from './consent.ts'
import { createChargePreview } from './foresight.ts'
import { createServices } from './operations.ts'
import { createPaymentTokens } from './payment-tokens/operations.ts'
import { paymentTokenRoutes } from './payment-tokens/routes.ts'
import { createPlans } from './plans/operations.ts'
import { createRepricing } from './plans/repricing.ts'
import { createQuantities } from './quantities/operations.ts'
import { createQuotes } from './quotes.ts'
import { planRoutes, servicesRoutes, synchronizationRoutes } from './routes.ts'
import { ImportedServices } from './schema.ts'
import { servicesSettings } from './settings.ts'
import { createServicesStore } from './store.ts'
import { createSynchronization, createTelling } from './synchronization/operations.ts'
import { createServiceTasks } from './tasks.ts'
import { createVendors } from './vendors.ts'

export { dueMonthly } from './agreed.rules.ts'
export { invoiceJson } from './pricing/invoices.ts'
export { itemJson, itemName } from './pricing/items.ts'
export { taxJson, taxLineJson } from './pricing/plan.ts'

export const servicesArea = area({
  name: 'services',
  kinds: {
    quantities: 'quantities of a month',
    service_audit: 'changes of the services of an account',
    service_plan: 'service plans',
    service_sync: 'reports to billing providers',
    services: 'services of an account',
  },
  events: {
    'charge.accepted':
      "Extra: the payer accepts a charge (`accept_charges`), and the change is done. Record: `charge`, with the payer's id. `after`: `for` {`kind`, `id`}: what is charged; `today`, `recurring`: the amount now, and the additional amount each month",
    'charge.refused':
      "Extra: a request got a 402: acceptance, credit, standing or a card is missing. Nothing was written. At most one a minute for each payer and process. Record: `charge`, with the payer's id. `after`: `reason`: the `message` of the response; its `data`, if smaller than 16 kB",
  },
  describes: {
    service_plans: 'Service plans of resellers.',
    services: 'Plans of accounts, their quantities and charges, and their billing providers.',
  },
  needs: { accounts: accountsArea },
  settings: [servicesSettings, httpSyncSettings, stripeSettings],
  create(tools, { accounts }) {
    const { store } = tools
    const quantities = createQuantities(tools)
    const vendors = createVendors(store, accounts)
    const plans = createPlans(store, vendors)
    const base = { ...tools, accounts, quantities, vendors, plans }
    const books = createPricingData(base)
    const gateways = createGateways({ ...tools, clock: store.clock })
    const bookkeepers = createBookkeepers({ ...base, books, gateways })
    const standings = createPaymentStatuses({ ...base, books, bookkeepers })
    const charged = createCharged(store)
    const quotes = createQuotes(store)
    const tell = createTelling(tools)
    const audit = createServiceAudit({ ...base, tell })
    const deps = { ...base, books, bookkeepers, standings, charged, quotes, tell, audit }
    const foresight = createChargePreview(deps)
    const synchronization = createSynchronization(deps)
    const services = createServices({ ...deps, isDirty: synchronization.isDirty })
    const paymentTokens = createPaymentTokens(store, books, bookkeepers)
    const planning = planRoutes(plans)
    return {
      offers: {
        services,
        quantities,
        books,
        bookkeepers,
        standings,
        audit,
        charged,
        foresight,
        paymentTokens,
        settle: synchronization.settle,
      },
      routes: [
        ...serviceAuditRoutes(audit, tools),
        ...servicesRoutes(services),
        ...planning.routes,
        ...paymentTokenRoutes(paymentTokens),
        ...synchronizationRoutes(synchronization),
      ],
      schemas: planning.schemas,
      adoptions: {
        // Imported counts also count for the parent accounts.
        account: accounts.adoption(quantities),
        ...planning.adoptions,
        services: { schema: ImportedServices, ...createServicesStore(store).adopting },
        service_audit: createServiceAuditImporter(store),
        service_day: createQuantityDayImporter(store),
      },
      jobs: [quantities.job, synchronization.job, quotes.deletion, createRepricing(deps)],
      hears: [
        on(accountMoved, quantities.moveWith),
        on(accountDeleted, quantities.removeWith),
        on(accountDeleted, synchronization.removeWith),
      ],
      gates: [createConsent(deps)],
      taskActions: createServiceTasks(accounts, quantities),
    }
  },
})
