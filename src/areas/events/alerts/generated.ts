import type { AccountRecord } from '../../../auth/identity.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { unitsOfDollars } from '../../../lib/money.ts'
import type { SettingsOf } from '../../../settings/keys.ts'
import type { DepsOf } from '../../area.ts'
import type { LimitsOfAccounts } from '../../billing/limits/operations.ts'
import type { Services } from '../../billing/services/operations.ts'
import {
  balanceRows,
  type ChargedToken,
  type PortingNumber,
  portRows,
  standingRows,
  tokenRows,
} from './generated.rules.ts'
import type { AlertRow } from './schema.ts'
import { alertCheckSettings } from './settings.ts'

interface Purse {
  /** Units. */
  balance(accountId: string): Promise<number>
  /** Units. */
  threshold(account: AccountRecord): number | undefined
  defaultToken(account: AccountRecord): Promise<ChargedToken | undefined>
  isGood(account: AccountRecord): Promise<boolean>
}

interface Deps extends DepsOf<'store' | 'settings'> {
  services: Pick<Services, 'hasPlans'>
  limits: Pick<LimitsOfAccounts, 'ofOperator'>
  purse: Purse
  porting(accountId: string): Promise<readonly PortingNumber[]>
}

type Checks = SettingsOf<typeof alertCheckSettings>

export type GeneratedAlerts = ReturnType<typeof createGeneratedAlerts>

/** Derives alerts from the state of an account at each request, so that they end with their cause. */
export const createGeneratedAlerts = ({ store, settings, services, limits, purse, porting }: Deps) => {
  const ofPorts = async ({ id }: AccountRecord, checks: Checks) => {
    const { check_port_requests: ports, check_port_action_required: isAsked } = checks
    return ports && isAsked ? portRows(id, await porting(id)) : []
  }

  const ofBalance = async (account: AccountRecord) => {
    const { allow_postpay: isAllowed, max_postpay_amount: most = 0 } = await limits.ofOperator(account)
    return balanceRows({
      accountId: account.id,
      balance: await purse.balance(account.id),
      threshold: purse.threshold(account),
      postpay: isAllowed ? unitsOfDollars(most) : undefined,
    })
  }

  const ofToken = async (account: AccountRecord) =>
    tokenRows(account.id, await purse.defaultToken(account), gregorianNow(store.clock))

  const ofMoney = async (account: AccountRecord, checks: Checks): Promise<AlertRow[]> => {
    if (!checks.check_financials || !(await services.hasPlans(account))) return []
    return [
      ...(checks.check_low_balance ? await ofBalance(account) : []),
      ...standingRows(account.id, await purse.isGood(account)),
      ...(checks.check_payment_token ? await ofToken(account) : []),
    ]
  }

  return {
    async of(account: AccountRecord): Promise<AlertRow[]> {
      const checks = await settings.of(alertCheckSettings)
      return [...(await ofPorts(account, checks)), ...(await ofMoney(account, checks))]
    },
  }
}
