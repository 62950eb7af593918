import { accountMember } from '../../auth/policies.ts'
import { answer, RawJson } from '../../http/answer/answers.ts'
import { type Call, del, get, post, type Route } from '../../http/route.ts'
import type { ClaimHolder } from '../../storage/change-set.ts'
import { holderOf } from '../../storage/records.ts'
import type { Devices } from '../devices/operations.ts'
import type { RateLimitRecord, RateLimits } from './operations.ts'
import {
  AccountRateLimits,
  AccountRateLimitsOrNone,
  DeviceRateLimits,
  DeviceRateLimitsOrNone,
} from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/rate_limits'
const onDevice = '/v2/accounts/{account_id}/devices/{device_id}/rate_limits'

/** Whose limits are asked for, and the limits as they are. */
interface LimitsSubject {
  owner: ClaimHolder
  limits: RateLimitRecord | undefined
  /** What If-Match is held against. */
  revision?: string
}

type Change<Data> = Pick<Call<string, Data, LimitsSubject>, 'author' | 'subject' | 'data'>

const shown = (limits: RateLimitRecord, metadata: Record<string, unknown> = {}) =>
  answer({
    data: new RawJson(limits.docText),
    metadata: { id: limits.id, created: limits.created, modified: limits.modified, ...metadata },
    revision: limits.revision,
  })

const view = ({ subject: { limits } }: { subject: LimitsSubject }) => (limits ? shown(limits) : {})

export const rateLimitRoutes = (rateLimits: RateLimits, devices: Devices): Route[] => {
  const place = async (owner: ClaimHolder): Promise<LimitsSubject> => {
    const limits = await rateLimits.of(owner)
    return limits ? { owner, limits, revision: limits.revision } : { owner, limits }
  }

  const ofAccount = ({ account }: Pick<Call, 'account'>) => place(holderOf(account))

  const ofDevice = async ({ path }: { path: { account_id: string; device_id: string } }) =>
    place(holderOf(await devices.get(path.account_id, path.device_id)))

  const replace = async (call: Change<AccountRateLimits | DeviceRateLimits>) => {
    const { author, subject, data } = call
    return shown(await rateLimits.replace(author, subject.owner, subject.limits, data))
  }

  const remove = async ({ author, subject: { limits } }: Omit<Change<unknown>, 'data'>) => {
    if (!limits) return {}
    await rateLimits.remove(author, limits)
    return shown(limits, { deleted: true })
  }

  return [
    get(onAccount, {
      summary: 'Read the SIP packet limits of an account',
      allow: accountMember,
      subject: ofAccount,
      answers: AccountRateLimitsOrNone,
      run: view,
    }),
    post(onAccount, {
      summary: 'Replace the SIP packet limits of an account',
      allow: accountMember,
      subject: ofAccount,
      body: AccountRateLimits,
      answers: AccountRateLimits,
      run: replace,
    }),
    del(onAccount, {
      summary: 'Remove the SIP packet limits of an account',
      allow: accountMember,
      subject: ofAccount,
      answers: AccountRateLimitsOrNone,
      run: remove,
    }),
    get(onDevice, {
      summary: 'Read the SIP packet limits of a device',
      allow: accountMember,
      subject: ofDevice,
      answers: DeviceRateLimitsOrNone,
      run: view,
    }),
    post(onDevice, {
      summary: 'Replace the SIP packet limits of a device',
      allow: accountMember,
      subject: ofDevice,
      body: DeviceRateLimits,
      answers: DeviceRateLimits,
      run: replace,
    }),
    del(onDevice, {
      summary: 'Remove the SIP packet limits of a device',
      allow: accountMember,
      subject: ofDevice,
      answers: DeviceRateLimitsOrNone,
      run: remove,
    }),
  ]
}
