import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { numberOrderRefused } from '../../numbers/phone-numbers/signals.ts'
import { limitsArea } from '../limits/area.ts'
import { servicesArea } from '../services/area.ts'
import { chargesAccepted } from '../services/signals.ts'
import { createLedgers, postingOf } from './operations.ts'
import { ledgerRoutes } from './routes.ts'

export const ledgersArea = area({
  name: 'ledgers',
  kinds: {
    ledger:
      'a balance that is carried into a new month; for other entries see `ledger.credited` and `ledger.debited`',
  },
  events: {
    'ledger.credited':
      'Change: money is booked for the account. Record: `ledger`. `after`: the entry, without the balance before it',
    'ledger.debited':
      'Change: money is booked against the account. The calls of a batch of call records are one event. Record: `ledger`. `after`: the entry; of calls `entries`, their number, and their `amount`',
  },
  describes: { ledgers: 'Credits and debits of accounts.' },
  needs: { accounts: accountsArea, services: servicesArea, limits: limitsArea },
  create(tools, { accounts, services: { audit, charged }, limits: { limits } }) {
    const { store } = tools
    const ledgers = createLedgers({ store, accounts, audit, charged, overdraft: limits.chargeOverdraft })
    return {
      offers: ledgers,
      routes: ledgerRoutes(ledgers, accounts, tools),
      jobs: [ledgers.monthOpening],
      adoptions: { ledger: ledgers.importer },
      hears: [
        on(chargesAccepted, (set, { account, due }) => {
          const postings = due.map((line) => postingOf(line, set.author, store.clock.now()))
          return ledgers.charge(set, account, postings)
        }),
        on(numberOrderRefused, async (set, { accountId, author, act }) => {
          const account = await accounts.find(accountId)
          if (account) await ledgers.giveBack(set, account, { requestId: author.requestId, act })
        }),
      ],
    }
  },
})
