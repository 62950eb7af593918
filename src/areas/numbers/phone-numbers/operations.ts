export type { NumberCaller, NumberPlan, NumberRequest } from './number-facts.ts'

import { type AccountRecord, isSuperduper, isWithin } from '../../../auth/identity.ts'
import type { Queue } from '../../../jobs/queue.ts'
import { type Failure, failure, invalid, type Problems } from '../../../lib/failure.ts'
import type { ChangeSet, ClaimHolder } from '../../../storage/change-set.ts'
import { createAssignments } from './arrivals.ts'
import { createChanges, createReleases } from './changes.ts'
import { numberNotFound, numberUnassigned } from './failures.ts'
import { type NumberCaller, type NumberPlan, rightsOf } from './number-facts.ts'
import { createNumberJobs } from './orders.ts'
import { createNumberPlanner, createNumberView, type NumberDeps, type NumberView } from './planner.ts'
import { callFeatures, creationRefusal, maySee, type NumberState } from './rules.ts'
import type { NumberRecord } from './store.ts'

export type { NumberRecord, NumberView }

export type Performed = NumberPlan & { refusal?: Failure }

export type Numbers = ReturnType<typeof createNumbers>

/** The inventory of phone numbers. Changes are planned first, then committed. */
export const createNumbers = (deps: NumberDeps & { queue: Queue }) => {
  const { store, planning, features } = deps
  const planner = createNumberPlanner(deps)
  const { numbers } = planner
  const jobs = createNumberJobs({ ...deps, planner })
  const { plan: leaving, ...releases } = createReleases(deps, planner)
  const { plan: changing, ...changes } = createChanges(deps, planner)

  const commit = async (...plans: readonly NumberPlan[]) => {
    const sets = plans.flatMap(({ set }) => (set ? [set] : []))
    if (sets.length > 0) await store.commit(...sets)
  }

  return {
    store: numbers,
    /** A plan throws if it is not allowed. Nothing changes before its commit. */
    plan: { ...createAssignments(deps, planner), ...changing, ...leaving },
    planning,
    features,
    ...releases,
    ...changes,
    find: numbers.find,
    findAnywhere: numbers.findAnywhere,
    normalize: planning.normalize,
    reconcile: planning.reconcile,
    view: () => createNumberView(numbers),

    /** Reads the numbers of a batch together. */
    async preload(texts: readonly string[]): Promise<NumberView> {
      const { normalize } = await planning.rules()
      const wantedOnes = [...new Set(texts.map(normalize))]
      const found = await numbers.findSeveral(wantedOnes)
      return createNumberView(numbers, new Map(wantedOnes.map((number) => [number, found.get(number)])))
    },

    /** A number that the caller may see. */
    async visible(view: NumberView, by: NumberCaller, text: string): Promise<NumberRecord> {
      const number = await planning.reconcile(text)
      const stored = await view.get(number)
      if (!stored || !maySee(stored, await planner.standingOf(by, stored.accountId, by.account)))
        throw failure(numberNotFound, { number })
      return stored
    },

    jobs,
    commit,

    /** Commits plans and orders from carriers. An order that a carrier refuses is undone. */
    async perform(...plans: readonly NumberPlan[]): Promise<Performed[]> {
      await commit(...plans)
      const orders = plans.flatMap(({ order }) => (order === undefined ? [] : [order]))
      if (orders.length === 0) return [...plans]
      const ended = await jobs.carryOut(orders)
      const current = await numbers.findSeveral(plans.map(({ number }) => number.id))
      return plans.map((plan) => {
        const { order, number } = plan
        if (order === undefined) return plan
        if (ended.get(order) === 'refused') return { ...plan, refusal: jobs.refusal(number.id) }
        return { ...plan, number: current.get(number.id) ?? number }
      })
    },
  }
}

/** States in which a number takes calls. */
const serving: ReadonlySet<NumberState> = new Set(['in_service', 'port_in', 'port_out', 'reserved'])

/** Removes separators; U+2010 to U+2015 and U+2212 are dashes. */
const withoutFormat = (text: string) => text.replace(/[\s().\-/\u2010-\u2015\u2212]/g, '')

export type NumberIdentity = ReturnType<typeof createNumberIdentity>

export const createNumberIdentity = (numbers: Numbers, findAccount: NumberDeps['findAccount']) => {
  const unassigned = (cause: string, accountId: string, number: string) =>
    failure(numberUnassigned, { data: { cause, account_id: accountId, number } })

  return {
    /** The owner of a number and its call features: only for the owner and its parents. */
    async identify(by: NumberCaller, text: string) {
      const number = await numbers.reconcile(text)
      const found = await numbers.findAnywhere(number)
      if (!found) throw failure(numberNotFound, { number })
      if (found.accountId === '') throw failure(numberUnassigned, { data: { cause: 'unassigned', number } })
      const owner = await findAccount(found.accountId)
      if (!owner || !(isSuperduper(by) || isWithin(by, owner))) throw failure(numberNotFound, { number })
      if (!serving.has(found.state)) throw unassigned('not_in_service', owner.id, number)
      if (!owner.hidden.enabled) throw unassigned('account_disabled', owner.id, number)
      return { account_id: owner.id, number, ...callFeatures(found.hidden.features) }
    },

    /** Finds the account by a number in any notation, such as `+1 (415) 555-0100`. */
    async accountOf(text: string): Promise<AccountRecord | undefined> {
      const found = await numbers.findAnywhere(await numbers.normalize(withoutFormat(text)))
      return found?.accountId && serving.has(found.state) ? findAccount(found.accountId) : undefined
    },
  }
}

type Device = Pick<ClaimHolder, 'accountId' | 'id'>

const mobileNumberTaken = (mdn: unknown): Problems => ({
  'mobile.mdn': { unique: { message: 'Mobile number already in use', cause: mdn } },
})

const invalidMobileNumber = (mdn: unknown): Problems => ({
  'mobile.mdn': { invalid: { message: 'The mobile number is not a phone number', cause: mdn } },
})

const additionProblems = (by: NumberCaller): Problems => {
  const cause = creationRefusal(by.accountId, 'in_service', rightsOf(by))
  if (cause === undefined) return {}
  const message =
    'The account does not have this number, and the caller may not add it. Use a number of the account that is in service'
  return { 'mobile.mdn': { forbidden: { message, cause } } }
}

const isUsable = ({ accountId, state, hidden }: NumberRecord, ownerId: string) =>
  accountId === ownerId && state === 'in_service' && hidden.pendingOrder === undefined

export type MobileNumbers = ReturnType<typeof createMobileNumbers>

/** Numbers of mobile devices: new ones, or numbers that the account has in service. No other account can take them. */
export const createMobileNumbers = (numbers: Numbers) => {
  const find = async (mdn: string) => {
    const { normalize, isReconcilable } = await numbers.planning.rules()
    const number = normalize(mdn)
    return { number, isNumber: isReconcilable(number), stored: await numbers.findAnywhere(number) }
  }

  return {
    /** Why the device cannot have the number. A new number follows the rules of PUT. */
    async problems(
      by: NumberCaller,
      account: AccountRecord,
      mdn: string,
      deviceId: string | undefined,
    ): Promise<Problems> {
      const { isNumber, stored } = await find(mdn)
      if (!isNumber) return invalidMobileNumber(mdn)
      if (!stored) return additionProblems(by)
      const { deviceId: holder } = stored.hidden
      const isOurs = isUsable(stored, account.id)
      return isOurs && (holder === undefined || holder === deviceId) ? {} : mobileNumberTaken(mdn)
    },

    async claim(set: ChangeSet, device: Device, mdn: string) {
      const { number, stored } = await find(mdn)
      const isFree = stored && isUsable(stored, device.accountId)
      if (stored && (!isFree || (stored.hidden.deviceId ?? device.id) !== device.id))
        throw invalid(mobileNumberTaken(mdn))
      await numbers.addMobile(set, { number, stored, accountId: device.accountId, deviceId: device.id })
    },

    async release(set: ChangeSet, device: Device, mdn: string) {
      const { stored } = await find(mdn)
      if (stored?.hidden.deviceId !== device.id || stored.accountId !== device.accountId) return
      await numbers.removeMobile(set, stored)
    },
  }
}
