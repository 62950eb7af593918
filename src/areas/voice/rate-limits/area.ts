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
import { accountsArea } from '../../accounts/accounts/area.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import { createRateLimits, type RateLimits } from './operations.ts'
import { rateLimitSettings } from './settings.ts'

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

const rateLimitRoutes = (rateLimits: RateLimits, devices: Devices): Route[] => {
  const ofAccount = async ({ account }: Pick<Call, 'account'>) => account

  const ofDevice = ({ path }: { path: { account_id: string; device_id: string } }) =>
    devices.get(path.account_id, path.device_id)

  const isKept = ({ doc }: Owner) => doc.rate_limits !== undefined

  // Without limits of its own an owner is bound by those of the next level.
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

/** How many SIP packets a second accounts and their devices may send. */
export const rateLimitsArea = area({
  name: 'rateLimits',
  describes: { rate_limits: 'How many SIP packets a second accounts and their devices may send.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  settings: [rateLimitSettings],
  create({ settings }, needs) {
    const limits = createRateLimits({ settings, ...needs })
    return {
      offers: limits,
      routes: rateLimitRoutes(limits, needs.devices),
      adoptions: {
        packet_limits: {
          schema: AccountRateLimits,
          put: (set, { accountId, doc }) => needs.accounts.keepLimits(set, accountId, doc),
          remove: (set, { accountId }) => needs.accounts.keepLimits(set, accountId, undefined),
        },
      },
      schemas: { device_rate_limits: DeviceRateLimits, rate_limits: AccountRateLimits },
    }
  },
})
