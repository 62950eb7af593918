import { area } from '../../area.ts'
import { createQuotas } from './operations.ts'
import { quotaSettings } from './settings.ts'

/** How much accounts may have, and how large a record may be. */
export const quotasArea = area({
  name: 'quotas',
  settings: [quotaSettings],
  create(tools) {
    const quotas = createQuotas(tools)
    return { offers: quotas, gates: [quotas.gate] }
  },
})
