import { accountsArea } from '../accounts/area.ts'
import { area } from '../area.ts'
import { phoneNumbersArea } from '../phone-numbers/area.ts'
import { createResources } from './operations.ts'
import { resourceRoutes } from './routes.ts'
import { Resource } from './schema.ts'

/** Carriers: who takes calls to numbers outside, and who brings them. */
export const resourcesArea = area({
  name: 'resources',
  needs: { accounts: accountsArea, phoneNumbers: phoneNumbersArea },
  create({ store, dns, outgoing }, { accounts, phoneNumbers: { numbers } }) {
    const accountOfNumber = async (text: string) => {
      const number = await numbers.findAnywhere(await numbers.normalize(text))
      return number && accounts.find(number.accountId)
    }
    const resources = createResources({ store, dns, outgoing, accountOfNumber })
    return {
      offers: resources,
      routes: resourceRoutes(resources),
      schemas: { resources: Resource },
      adoptions: { resource: resources.adoption },
    }
  },
})
