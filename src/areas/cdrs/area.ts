import { on } from '../../storage/signal.ts'
import { accountsArea } from '../accounts/area.ts'
import { accountLeaving } from '../accounts/signals.ts'
import { area } from '../area.ts'
import { ledgersArea } from '../ledgers/area.ts'
import { limitsArea } from '../limits/area.ts'
import { phoneNumbersArea } from '../phone-numbers/area.ts'
import { ratesArea } from '../rates/area.ts'
import { createCallBilling } from './billing/operations.ts'
import { createDepartures } from './departures/operations.ts'
import { createFreeswitchIntake } from './freeswitch/operations.ts'
import { freeswitchPage } from './freeswitch/routes.ts'
import { countVerdicts } from './intake/metrics.ts'
import { createIntake } from './intake/operations.ts'
import { cdrIntakeRoutes } from './intake/routes.ts'
import { createCdrMonths } from './months/operations.ts'
import { createCdrs } from './operations.ts'
import { createCdrRebuild } from './rebuild/operations.ts'
import { cdrRoutes } from './routes.ts'
import { cdrSettings } from './settings.ts'
import { createCallStats } from './stats/operations.ts'
import { createCdrTasks } from './tasks.ts'

/** Call detail records: how they come in, what they cost, how they are read. */
export const cdrsArea = area({
  name: 'cdrs',
  needs: {
    accounts: accountsArea,
    phoneNumbers: phoneNumbersArea,
    limits: limitsArea,
    ledgers: ledgersArea,
    rates: ratesArea,
  },
  settings: cdrSettings,
  create(tools, { accounts, phoneNumbers, limits, ledgers, rates }) {
    const { feed, store } = tools
    const { resellerOf } = accounts
    const { classOf } = phoneNumbers.planning
    const cdrs = createCdrs(tools)
    feed.unfolds('cdr.created', cdrs.texts)
    const billing = createCallBilling({ accounts, rates, ...limits, ledgers, classOf })
    const count = countVerdicts(tools.metrics)
    const intake = createIntake({ ...tools, billing, count: count('api') })
    const months = createCdrMonths({ ...tools, intake })
    const departures = createDepartures(tools)
    const freeswitch = createFreeswitchIntake({ ...tools, accounts, intake, count: count('freeswitch') })
    return {
      offers: { intake, months },
      routes: [
        ...cdrIntakeRoutes(intake),
        ...cdrRoutes({ cdrs, stats: createCallStats(tools), store, resellerOf }),
      ],
      posted: [freeswitchPage(freeswitch)],
      prepare: freeswitch.prepare,
      rounds: [months.retention],
      errands: [departures.kind, intake.unions],
      hears: [on(accountLeaving, departures.begin)],
      taskActions: createCdrTasks({ cdrs, clock: store.clock, resellerOf }),
      migrations: {
        rebuild_cdr_months: {
          description:
            'Counts the statistics and checks the costs of call detail records anew from the stored records',
          plan: createCdrRebuild(store),
          accountsAtOnce: 8,
        },
      },
    }
  },
})
