import { area } from '../../area.ts'
import { createQuotas } from './operations.ts'
import { quotaSettings } from './settings.ts'

export const quotasArea = area({
  name: 'quotas',
  events: {
    'limit.reached':
      'Extra: the server rejects something because the account has all that its `quotas` allow: records of a kind, sub-accounts, bytes. At most one a minute for each limit and process. Record: `limit`, with the name of the limit as its id. `after`: `what`, `limit`',
  },
  settings: [quotaSettings],
  create(tools) {
    const quotas = createQuotas(tools)
    return { offers: quotas, gates: [quotas.gate] }
  },
})
