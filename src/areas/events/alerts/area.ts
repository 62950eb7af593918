import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { accountChanged } from '../../accounts/accounts/signals.ts'
import { userDeleted } from '../../accounts/users/signals.ts'
import { area } from '../../area.ts'
import { ledgersArea } from '../../billing/ledgers/area.ts'
import { balanceMoved } from '../../billing/ledgers/signals.ts'
import { limitsArea } from '../../billing/limits/area.ts'
import { paymentsArea } from '../../billing/payments/area.ts'
import { servicesArea } from '../../billing/services/area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { createBalanceWatch } from './balance.sql.ts'
import { createGeneratedAlerts } from './generated.ts'
import { alertNotice, lowBalanceNotice } from './notices.ts'
import { createAlerts } from './operations.ts'
import { createOutages, type Watched } from './outages.ts'
import { alertRoutes } from './routes.ts'
import { Alert } from './schema.ts'
import { alertCheckSettings, alertSettings } from './settings.ts'

export const alertsArea = area({
  name: 'alerts',
  kinds: {
    alert: 'alerts, which are records of the master account',
    hidden_alerts: 'accounts whose alerts were hidden',
    low_balance: 'low-balance notices',
  },
  events: {
    'alert.raised':
      'Extra: a user or the server creates an alert. The event is of the accounts that the alert names; without any, of the master account. Record: `alert`. `after`: the alert',
    'balance.low':
      "Change: the balance is not over `notifications.low_balance.threshold` of the account (default 5 if mail is wanted): once when it becomes so, then once a day. Record: `low_balance`, with the account's id. `after`: `balance`, `threshold`",
  },
  describes: { alerts: 'Messages for the users of accounts.' },
  needs: {
    accounts: accountsArea,
    phoneNumbers: phoneNumbersArea,
    services: servicesArea,
    limits: limitsArea,
    ledgers: ledgersArea,
    payments: paymentsArea,
  },
  settings: [alertSettings, alertCheckSettings],
  notices: [lowBalanceNotice, alertNotice],
  create(tools, { accounts, phoneNumbers, services, limits, ledgers, payments }) {
    const { services: sold } = services
    const watch = createBalanceWatch({
      ...tools,
      accounts,
      balance: ledgers.balance,
      awaitsTopup: payments.topups.awaits,
    })
    const purse = {
      balance: ledgers.balance,
      threshold: payments.threshold,
      defaultToken: payments.defaultToken,
      isGood: sold.isGood,
    }
    const { porting } = phoneNumbers
    const generated = createGeneratedAlerts({ ...tools, ...limits, services: sold, purse, porting })
    const alerts = createAlerts({ ...tools, accounts, generated })
    return {
      offers: {
        ...alerts,
        outagesOf: (watched: Watched) => createOutages({ ...tools, alerts }, watched),
      },
      routes: alertRoutes(alerts),
      jobs: [watch.job, alerts.expiry],
      hears: [
        on(userDeleted, alerts.removeWith),
        on(balanceMoved, (set, { account }) => watch.moved(set, account)),
        on(accountChanged, (set, { before, after }) => watch.changed(set, before, after)),
      ],
      schemas: { alerts: Alert },
      adoptions: { alert: alerts.adoption },
    }
  },
})
