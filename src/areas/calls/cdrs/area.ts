import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { ledgersArea } from '../../billing/ledgers/area.ts'
import { limitsArea } from '../../billing/limits/area.ts'
import { ratesArea } from '../../billing/rates/area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { createArchiveFiles, createArchiveMetrics } from './archive/files.ts'
import { createCallArchive } from './archive/operations.ts'
import { createArchiveReading } from './archive/reading.ts'
import { createArchiveRegister } from './archive/store.ts'
import { createCallBilling } from './billing/operations.ts'
import { createDeletedAccountCalls } from './deleted-accounts.sql.ts'
import { createLegImporter } from './intake/adoption.ts'
import { countRepairs, countVerdicts, createIntake } from './intake/operations.ts'
import { createCdrMonths } from './months/operations.ts'
import { createCdrs } from './operations.ts'
import { createCdrRebuild } from './rebuild.sql.ts'
import { cdrIntakeRoutes, cdrRoutes } from './routes.ts'
import { callListSettings, callRecordSettings } from './settings.ts'
import { createCallStats } from './stats/store.ts'
import { createCdrTasks } from './tasks.ts'

export const cdrsArea = area({
  name: 'cdrs',
  kinds: {
    cdr_statistics: 'months whose call statistics were rebuilt',
    cdrs: 'batches of call records: `records`, `first` and `last` id',
  },
  events: {
    'cdr.created':
      'Extra: a call record comes in. Feeds contain it only if `type` names it; `record_id` does not find it. Record: `cdr`. `after`: the record, as its account sees it; absent if it is deleted, or its file cannot be read now ([older months](../guides/call-records.md#older-months-in-files))',
  },
  describes: { cdrs: 'Call detail records: intake, lists, statistics.' },
  needs: {
    accounts: accountsArea,
    phoneNumbers: phoneNumbersArea,
    limits: limitsArea,
    ledgers: ledgersArea,
    rates: ratesArea,
  },
  settings: [callListSettings, callRecordSettings],
  create(tools, { accounts, phoneNumbers, limits, ledgers, rates }) {
    const { callArchive: objects, feed, log, store } = tools
    const { resellerOf } = accounts
    const { classOf } = phoneNumbers.planning
    const register = createArchiveRegister(store)
    const metrics = createArchiveMetrics(tools.metrics)
    const files = createArchiveFiles({ objects, register, metrics, log })
    const archive = createArchiveReading(register, files)
    const cdrs = createCdrs({ ...tools, archive, metrics })
    feed.unfolds('cdr.created', cdrs.texts)
    const billing = createCallBilling({ accounts, rates, ...limits, ledgers, classOf })
    const count = countVerdicts(tools.metrics)
    const intake = createIntake({
      ...tools,
      archive,
      billing,
      count: count('api'),
      countRepair: countRepairs(tools.metrics),
    })
    const months = createCdrMonths({
      ...tools,
      intake,
      register,
      archive,
      hasArchive: objects !== undefined,
    })
    const departures = createDeletedAccountCalls({ ...tools, register })
    const archiving = objects && createCallArchive({ ...tools, objects, register, files, metrics })
    const legAdoption = createLegImporter({ ...tools, archive })
    const stats = createCallStats({ store, legs: cdrs.legs })
    return {
      offers: { intake, countVerdicts: count, billing, months, legAdoption, legs: cdrs.legs, stats },
      routes: [...cdrIntakeRoutes(intake), ...cdrRoutes({ cdrs, stats, store, resellerOf })],
      stop: files.close,
      jobs: [
        months.retention,
        months.preparation,
        ...(archiving ? [archiving.job] : []),
        departures.kind,
        intake.unions,
      ],
      hears: [on(accountDeleted, departures.begin)],
      taskActions: createCdrTasks({ cdrs, clock: store.clock, resellerOf }),
      migrations: {
        rebuild_cdr_months: {
          description: 'Recalculates statistics and checks costs from the stored call detail records',
          plan: createCdrRebuild(store),
          accountsAtOnce: 8,
        },
      },
    }
  },
})
