import { accountKind, masterClaim } from '../../../auth/identity.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { daySeconds } from '../../../lib/gregorian.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import { retrying } from '../../../storage/store.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import type { HostNames } from '../../accounts/accounts/host-names/operations.ts'
import { claimantOf } from '../../accounts/accounts/host-names/rules.ts'
import type { DepsOf } from '../../area.ts'
import { area } from '../../area.ts'
import { alertsArea } from '../../events/alerts/area.ts'
import type { Alerts } from '../../events/alerts/operations.ts'
import type { Alert } from '../../events/alerts/schema.ts'
import { whitelabelArea } from '../whitelabel/area.ts'
import type { Whitelabels } from '../whitelabel/operations.ts'

interface Deps extends DepsOf<'store'> {
  hostNames: HostNames
  whitelabel: Pick<Whitelabels, 'conflicts'>
  alerts: Pick<Alerts, 'raise' | 'withdraw'>
}

const conflictCause = (accountId: string) => `host_names/${accountId}`

const conflictAlert = (
  name: string,
  accountId: string,
  fields: readonly string[],
  masterId: string,
): Alert => ({
  title: 'Host names in conflict',
  message: `The account ${name} (${accountId}) has a host name that belongs to another account or to you: ${fields.join(', ')}. It keeps working. Decide which account owns it.`,
  category: 'host_name_conflict',
  level: 'warning',
  from: [{ type: 'account', value: accountId }],
  to: [{ type: masterId, value: 'admins' }],
})

/** Alerts the operator about host names of two accounts: imported ones, or written at the same time. */
const createHostNameConflicts = ({ store, hostNames, whitelabel, alerts }: Deps): ScheduledJob => {
  const { records } = store

  const look = async (accountId: string, masterId: string) => {
    const account = await records.find(accountId, accountKind, accountId)
    if (!account) return
    const realm = { path: 'realm', text: account.doc.realm, use: 'realm' } as const
    const fields = [
      ...Object.keys(await hostNames.problems(claimantOf(account), [realm])),
      ...Object.keys(await whitelabel.conflicts(account)),
    ]
    const set = new ChangeSet({ requestId: 'host_name_conflicts' })
    const alert = conflictAlert(account.doc.name, accountId, fields, masterId)
    if (fields.length === 0) await alerts.withdraw(set, conflictCause(accountId))
    else await alerts.raise(set, conflictCause(accountId), alert)
    if (set.changes.length > 0) await store.commit(set)
  }

  return {
    name: 'host name conflicts',
    everySeconds: daySeconds,
    async run(signal) {
      const master = await records.claimant(masterClaim)
      if (!master) return
      for await (const accountIds of hostNames.holders(signal))
        for (const accountId of accountIds) await retrying(() => look(accountId, master.accountId))
    },
  }
}

export const hostNameConflictsArea = area({
  name: 'hostNameConflicts',
  needs: { accounts: accountsArea, whitelabel: whitelabelArea, alerts: alertsArea },
  create: ({ store }, { accounts: { hostNames }, whitelabel, alerts }) => ({
    jobs: [createHostNameConflicts({ store, hostNames, whitelabel, alerts })],
  }),
})
