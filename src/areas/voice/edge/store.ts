import { accountKind } from '../../../auth/identity.ts'
import type { ChangeSet, Claim } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { EdgeEmergency } from './schema.ts'

const name = 'emergency_call'
// Old claims are found by the period in their value.
const periodSeconds = 31 * 86_400
const periodDigits = 8

const periodOf = (gregorianSeconds: number) => Math.floor(gregorianSeconds / periodSeconds)

const prefixOf = (period: number) => `${String(period).padStart(periodDigits, '0')}/`

const claimIn = ({ account_id: scope, call_id: callId }: EdgeEmergency, period: number): Claim => ({
  scope,
  name,
  value: `${prefixOf(period)}${callId}`,
})

/**
 * Claims of emergency calls that are events already. Each call claims its Call-ID in its account for at least
 * 31 days.
 */
export const createEmergencyClaims = ({ records }: Pick<Store, 'records'>) => ({
  /** Whether any process has reported the call. */
  async isKnown(call: EdgeEmergency): Promise<boolean> {
    const period = periodOf(call.at)
    const holders = [period, period - 1].map((one) => records.claimant(claimIn(call, one)))
    return (await Promise.all(holders)).some((holder) => holder !== undefined)
  },

  /** Fails the change set if another process claims the call at the same time. `now`: Gregorian seconds. */
  claim(set: ChangeSet, call: EdgeEmergency, now: number) {
    const { account_id: accountId } = call
    set.run('DELETE FROM claims WHERE account_id = $1 AND name = $2 AND value < $3', [
      accountId,
      name,
      prefixOf(periodOf(now) - 1),
    ])
    set.claim(claimIn(call, periodOf(call.at)), { accountId, kind: accountKind, id: accountId })
  },
})
