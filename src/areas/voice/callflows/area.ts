import { on } from '../../../storage/signal.ts'
import { area } from '../../area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { numberReleased, numberRenamed } from '../../numbers/phone-numbers/signals.ts'
import { createCallflows } from './operations.ts'
import { callflowRoutes } from './routes.ts'

/** What happens to calls, by the number that is called. */
export const callflowsArea = area({
  name: 'callflows',
  describes: { callflows: 'What happens to calls, by the number that is called.' },
  needs: { phoneNumbers: phoneNumbersArea },
  create({ store }, { phoneNumbers: { numbers } }) {
    const callflows = createCallflows({ store, numbers })
    return {
      offers: callflows,
      ...callflowRoutes(callflows),
      hears: [on(numberReleased, callflows.replaceNumber), on(numberRenamed, callflows.replaceNumber)],
    }
  },
})
