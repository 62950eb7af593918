import { area } from '../../area.ts'
import { ledgersArea } from '../../billing/ledgers/area.ts'
import { cdrsArea } from '../../calls/cdrs/area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import { accountsArea } from '../accounts/area.ts'
import { createFigures } from './operations.ts'
import { figureRoutes } from './routes.ts'

export const figuresArea = area({
  name: 'figures',
  describes: { figures: 'Sums of sub-accounts.' },
  needs: { accounts: accountsArea, ledgers: ledgersArea, cdrs: cdrsArea, alerts: alertsArea },
  create: ({ store }, { accounts, ledgers, cdrs, alerts }) => ({
    routes: figureRoutes(createFigures({ accounts, ledgers, stats: cdrs.stats, alerts }), store),
  }),
})
