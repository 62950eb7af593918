import type { AccountRecord } from '../../../../auth/identity.ts'
import type { Accounts } from '../../../accounts/accounts/operations.ts'
import type { Numbers } from '../../../numbers/phone-numbers/operations.ts'
import type { Resources } from '../../resources/operations.ts'
import type { CarrierQuery } from './rules.ts'
import type { CarrierAnswer } from './schema.ts'

interface Deps {
  resources: Pick<Resources, 'carrierAt'>
  numbers: Pick<Numbers, 'findAnywhere' | 'normalize'>
  accounts: Pick<Accounts, 'find'>
}

// Seconds that an edge caches the decision, as other decisions; fewer while the DNS of a carrier has not answered.
const maxAgeSeconds = 60
const unsureSeconds = 5

export type CarrierDecisions = ReturnType<typeof createCarrierDecisions>

export const createCarrierDecisions = ({ resources, numbers, accounts }: Deps) => {
  const accountOfNumber = async (text: string): Promise<AccountRecord | undefined> => {
    const number = await numbers.findAnywhere(await numbers.normalize(text))
    return number && accounts.find(number.accountId)
  }

  return {
    /** Whether a call from an address may come in. With a number, carriers of the account that has it count, too. */
    async decide({ number, ...origin }: CarrierQuery): Promise<CarrierAnswer> {
      const account = number === undefined ? undefined : await accountOfNumber(number)
      const { resourceId, accountId, isSure } = await resources.carrierAt(origin, account)
      const max_age_s = isSure ? maxAgeSeconds : unsureSeconds
      if (resourceId === undefined) return { allowed: false, reason: 'unknown_address', max_age_s }
      return {
        allowed: true,
        resource_id: resourceId,
        ...(accountId === undefined ? {} : { account_id: accountId }),
        reason: accountId === undefined ? 'carrier' : 'carrier_of_account',
        max_age_s,
      }
    },
  }
}
