import type { AccountRecord } from '../../../auth/identity.ts'
import { invalid, type Problems } from '../../../lib/failure.ts'
import type { ChangeSet, ClaimHolder } from '../../../storage/change-set.ts'
import { rightsOf } from './number-facts.ts'
import type { NumberCaller, NumberRecord, Numbers } from './operations.ts'
import { creationRefusal } from './rules.ts'

/** The device that a number belongs to. */
type Device = Pick<ClaimHolder, 'accountId' | 'id'>

const taken = (mdn: unknown): Problems => ({
  'mobile.mdn': { unique: { message: 'Mobile number already in use', cause: mdn } },
})

const noNumber = (mdn: unknown): Problems => ({
  'mobile.mdn': { invalid: { message: 'The mobile number is no phone number', cause: mdn } },
})

const additionProblems = (by: NumberCaller): Problems => {
  const cause = creationRefusal(by.accountId, 'in_service', rightsOf(by))
  if (cause === undefined) return {}
  const message =
    'The account does not have this number, and the caller may not add it. Use a number of the account that is in service'
  return { 'mobile.mdn': { forbidden: { message, cause } } }
}

/** A number that the account has in service for good. */
const isUsable = ({ accountId, state, hidden }: NumberRecord, ownerId: string) =>
  accountId === ownerId && state === 'in_service' && hidden.pendingOrder === undefined

export type MobileNumbers = ReturnType<typeof createMobileNumbers>

/**
 * Numbers of mobile devices. A device brings its number into the inventory, or uses one that its account has in
 * service; nobody else can have the number while the device is there.
 */
export const createMobileNumbers = (numbers: Numbers) => {
  const find = async (mdn: string) => {
    const { normalize, isReconcilable } = await numbers.planning.rules()
    const number = normalize(mdn)
    return { number, isNumber: isReconcilable(number), stored: await numbers.findAnywhere(number) }
  }

  return {
    /** What keeps a device of the account from having the number. A number that is not in the inventory has the rules of PUT. */
    async problems(
      by: NumberCaller,
      account: AccountRecord,
      mdn: string,
      deviceId: string | undefined,
    ): Promise<Problems> {
      const { isNumber, stored } = await find(mdn)
      if (!isNumber) return noNumber(mdn)
      if (!stored) return additionProblems(by)
      const { deviceId: holder } = stored.hidden
      const isOurs = isUsable(stored, account.id)
      return isOurs && (holder === undefined || holder === deviceId) ? {} : taken(mdn)
    },

    /** Adds to the device's change set that the number is the device's. */
    async claim(set: ChangeSet, device: Device, mdn: string) {
      const { number, stored } = await find(mdn)
      const isFree = stored && isUsable(stored, device.accountId)
      if (stored && (!isFree || (stored.hidden.deviceId ?? device.id) !== device.id))
        throw invalid(taken(mdn))
      await numbers.addMobile(set, { number, stored, accountId: device.accountId, deviceId: device.id })
    },

    /** The device has the number no longer. */
    async release(set: ChangeSet, device: Device, mdn: string) {
      const { stored } = await find(mdn)
      if (stored?.hidden.deviceId !== device.id || stored.accountId !== device.accountId) return
      await numbers.removeMobile(set, stored)
    },
  }
}
