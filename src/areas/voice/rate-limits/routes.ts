import type { AccountRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { answer } from '../../../http/answer/answers.ts'
import { type Call, del, get, post, type Route } from '../../../http/route.ts'
import {
  AccountRateLimits,
  accountLimitProblems,
  DeviceRateLimits,
  deviceLimitProblems,
} from '../../../lib/packet-limits.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { RateLimits } from './operations.ts'

const onAccount = '/v2/accounts/{account_id}/rate_limits'
const onDevice = '/v2/accounts/{account_id}/devices/{device_id}/rate_limits'

type Owner = AccountRecord | DeviceRecord

const shown = (owner: Owner, metadata: Record<string, unknown> = {}) => {
  const { id, created, modified, revision, doc } = owner
  return answer({
    data: doc.rate_limits,
    metadata: { id, created, modified, ...metadata },
    revision,
  })
}

export const rateLimitRoutes = (rateLimits: RateLimits, devices: Devices): Route[] => {
  const ofAccount = async ({ account }: Pick<Call, 'account'>) => account

  const ofDevice = ({ path }: { path: { account_id: string; device_id: string } }) =>
    devices.get(path.account_id, path.device_id)

  const isKept = ({ doc }: Owner) => doc.rate_limits !== undefined

  // Whoever keeps no limits of their own is bound by those of the next level all the same.
  const view = (owner: Owner, effective: object) =>
    owner.doc.rate_limits ? shown(owner, { effective }) : answer({ data: {}, metadata: { effective } })

  return [
    get(onAccount, {
      summary: 'Read the SIP packet limits of an account',
      allow: accountMember,
      subject: ofAccount,
      answers: AccountRateLimits,
      run: async ({ subject }) => view(subject, await rateLimits.inForce(subject, undefined)),
    }),
    post(onAccount, {
      summary: 'Replace the SIP packet limits of an account',
      allow: accountAdmin,
      subject: ofAccount,
      isKept,
      body: AccountRateLimits,
      answers: AccountRateLimits,
      judge: async ({ data }) => accountLimitProblems(data),
      run: async ({ author, subject, data }) => {
        const account = await rateLimits.ofAccount(author, subject, data)
        return shown(account, { effective: await rateLimits.inForce(account, undefined) })
      },
    }),
    del(onAccount, {
      summary: 'Remove the SIP packet limits of an account',
      allow: accountAdmin,
      subject: ofAccount,
      isKept,
      answers: AccountRateLimits,
      run: async ({ author, subject }) => {
        if (!subject.doc.rate_limits) return {}
        await rateLimits.ofAccount(author, subject, undefined)
        return shown(subject, { deleted: true })
      },
    }),
    get(onDevice, {
      summary: 'Read the SIP packet limits of a device',
      allow: accountMember,
      subject: ofDevice,
      answers: DeviceRateLimits,
      run: async ({ account, subject }) => view(subject, (await rateLimits.inForce(account, subject)).device),
    }),
    post(onDevice, {
      summary: 'Replace the SIP packet limits of a device',
      allow: accountAdmin,
      subject: ofDevice,
      isKept,
      body: DeviceRateLimits,
      answers: DeviceRateLimits,
      judge: async ({ data }) => deviceLimitProblems(data),
      run: async ({ author, account, subject, data }) => {
        const device = await rateLimits.ofDevice(author, account, subject, data)
        const { device: effective } = await rateLimits.inForce(account, device)
        return shown(device, { effective })
      },
    }),
    del(onDevice, {
      summary: 'Remove the SIP packet limits of a device',
      allow: accountAdmin,
      subject: ofDevice,
      isKept,
      answers: DeviceRateLimits,
      run: async ({ author, account, subject }) => {
        if (!subject.doc.rate_limits) return {}
        await rateLimits.ofDevice(author, account, subject, undefined)
        return shown(subject, { deleted: true })
      },
    }),
  ]
}
