import { accountAdmin } from '../../../auth/policies.ts'
import { get } from '../../../http/route.ts'
import { anyText, integer, list, must, open } from '../../../lib/schema.ts'
import { area } from '../../area.ts'
import { createQuotas } from './operations.ts'
import { quotaSettings } from './settings.ts'

const Quota = open(
  {
    name: must(anyText({ description: 'A kind of records, `sub_accounts` or `file_bytes`' })),
    used: must(integer({ minimum: 0 })),
    limit: must(integer({ minimum: 0 })),
  },
  { title: 'Quota' },
)

export const quotasArea = area({
  name: 'quotas',
  describes: { quotas: 'What an account uses of its quotas.' },
  events: {
    'limit.reached':
      'Extra: the server rejects something because the account has all that its `quotas` allow: records of a kind, sub-accounts, bytes. At most one a minute for each limit and process. Record: `limit`, with the name of the limit as its id. `after`: `what`, `limit`',
  },
  settings: [quotaSettings],
  create(tools) {
    const quotas = createQuotas(tools)
    const routes = [
      get('/v2/accounts/{account_id}/quotas', {
        summary: 'List quotas with their use',
        allow: accountAdmin,
        answers: list(Quota),
        run: ({ account }) => quotas.usage(account),
      }),
    ]
    return { offers: quotas, gates: [quotas.gate], routes }
  },
})
