import type { AccountRecord } from '../../auth/identity.ts'
import { on } from '../../storage/signal.ts'
import { accountChanged } from '../accounts/signals.ts'
import { area } from '../area.ts'
import { ledgersArea } from '../ledgers/area.ts'
import { balanceMoved } from '../ledgers/signals.ts'
import { servicesArea } from '../services/area.ts'
import { createBilling } from './billing/operations.ts'
import { paymentFailures } from './failures.ts'
import { paymentNotices } from './notices.ts'
import { paymentSettings } from './settings.ts'
import { createTopups } from './topup/operations.ts'
import { topupRoutes } from './topup/routes.ts'
import { lowBalanceThreshold } from './topup/rules.ts'
import { createManualTransactions } from './transactions/manual.ts'
import { createTransactions } from './transactions/operations.ts'
import { transactionRoutes } from './transactions/routes.ts'

/** How money comes in: by hand, by itself, and every month. */
export const paymentsArea = area({
  name: 'payments',
  needs: { services: servicesArea, ledgers: ledgersArea },
  settings: paymentSettings,
  failures: paymentFailures,
  notices: paymentNotices,
  create(tools, { services: sold, ledgers }) {
    const { settings, store } = tools
    const { services, bookkeepers } = sold
    const money = { ...tools, ...sold, ledgers }
    const transactions = createTransactions(money)
    const manual = createManualTransactions({ transactions, bookkeepers })
    const topups = createTopups({ ...money, transactions })
    const billing = createBilling({ ...money, transactions })
    return {
      offers: {
        topups,

        /** The payment method that is charged, with its expiration. */
        defaultToken: async (account: AccountRecord) =>
          bookkeepers.token(account.id, await bookkeepers.of(account)),

        /** Units below which the account says that its balance is low. */
        threshold: ({ doc: { notifications, topup } }: AccountRecord) =>
          lowBalanceThreshold({ notifications, topup }),
      },
      routes: [
        ...transactionRoutes({
          transactions,
          manual,
          billing,
          ledgers,
          services,
          settings,
          clock: store.clock,
        }),
        ...topupRoutes(topups, services.sellerOf),
      ],
      rounds: [transactions.round, topups.round, billing.round],
      hears: [
        on(balanceMoved, (set, { account, isSpent }) => {
          if (isSpent) topups.spent(set, account)
        }),
        on(accountChanged, (set, { before, after }) => topups.changed(set, before, after)),
      ],
    }
  },
})
