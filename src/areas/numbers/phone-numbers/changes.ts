import { isSuperduper } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { newId } from '../../../lib/ids.ts'
import { present } from '../../../lib/json.ts'
import { mergeObject } from '../../../lib/json-merge.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { invalidStateTransition, numberForbidden, numberNotFound } from './failures.ts'
import {
  carrierIn,
  type Existing,
  type FoundNumberFacts,
  foundRecord,
  type NumberFacts,
  type NumberPlan,
  type NumberUse,
  noFacts,
  numberFactsOf,
  rightsOf,
  type Update,
  withFields,
} from './number-facts.ts'
import { addNumberJob, releaseKind } from './orders.ts'
import {
  assertFree,
  assertOrdered,
  changeSetOf,
  createNumberView,
  type NumberDeps,
  type NumberPlanner,
  type NumberView,
} from './planner.ts'
import {
  changeRefusal,
  earlierHolders,
  isLocal,
  isReleasable,
  localFeature,
  mobileCarrier,
  type NumberState,
  releaseOf,
} from './rules.ts'
import { numberManagerSettings } from './settings.ts'
import type { NumberRecord } from './store.ts'

interface MobileTie extends Pick<FoundNumberFacts, 'number' | 'stored'> {
  accountId: string
  deviceId: string
}

const mobileUse = 'mobile'

const withoutDevice = (facts: NumberFacts): NumberFacts => {
  const { deviceId, ...hidden } = facts.hidden
  if (deviceId === undefined) return facts
  const { mobile: _, ...doc } = facts.doc
  return { ...facts, doc, hidden, usedBy: facts.usedBy === mobileUse ? '' : facts.usedBy }
}

export const createChanges = ({ planning }: NumberDeps, planner: NumberPlanner) => {
  const { numbers, settle, write, own, assertAuthorised, addRemoval } = planner
  const unasked = { asked: false, isOperator: false }

  /** Updates what follows from settings and from other records. */
  const repair = async (
    view: NumberView,
    author: Author,
    stored: NumberRecord,
    findDevice: (accountId: string, deviceId: string) => Promise<object | undefined>,
  ): Promise<NumberPlan> => {
    const { deviceId } = stored.hidden
    const isTied = deviceId !== undefined && (await findDevice(stored.accountId, deviceId)) !== undefined
    const facts = isTied ? numberFactsOf(stored) : withoutDevice(numberFactsOf(stored))
    return write(view, new ChangeSet(author), foundRecord(stored), facts, unasked)
  }

  /**
   * Applies the present rules. The number of a device, and one with a pending order, keep their name: both refer to
   * it.
   */
  const renormalise = async (
    view: NumberView,
    author: Author,
    stored: NumberRecord,
  ): Promise<NumberPlan | 'taken'> => {
    const { normalize, isReconcilable } = await planning.rules()
    const { deviceId, pendingOrder } = stored.hidden
    const wanted = deviceId === undefined && pendingOrder === undefined ? normalize(stored.id) : stored.id
    const number = isReconcilable(wanted) ? wanted : stored.id
    if (number !== stored.id && (await view.get(number))) return 'taken'
    const known = { created: stored.created, country: '' }
    return settle(view, new ChangeSet(author), { number, stored }, numberFactsOf(stored), known)
  }

  /** Ties an own number of the account to a device; a new one is added with it. */
  const addMobile = async (set: ChangeSet, { number, stored, accountId, deviceId }: MobileTie) => {
    const facts = stored
      ? numberFactsOf(stored)
      : { ...noFacts, accountId, state: 'in_service' as const, carrier: mobileCarrier }
    const mobile = { provider: 'local', authorizing: { 'account-id': accountId }, 'device-id': deviceId }
    const tied: NumberFacts = {
      ...facts,
      usedBy: facts.usedBy || mobileUse,
      doc: { ...facts.doc, mobile },
      hidden: {
        ...facts.hidden,
        deviceId,
        ...(stored ? {} : { features: { [localFeature]: {} } }),
      },
    }
    return settle(createNumberView(numbers), set, { number, stored }, tied)
  }

  const removeMobile = (set: ChangeSet, stored: NumberRecord) => {
    const view = createNumberView(numbers)
    if (stored.carrier === mobileCarrier) return addRemoval(view, set, stored)
    return settle(view, set, foundRecord(stored), withoutDevice(numberFactsOf(stored)))
  }

  /** Records what the number leads to: `usedBy`, else its mobile device. */
  const addUse = async (
    view: NumberView,
    set: ChangeSet,
    { accountId, number, usedBy }: NumberUse,
  ): Promise<NumberPlan> => {
    const stored = await view.get(number)
    if (stored?.accountId !== accountId) throw failure(numberNotFound, { number })
    const others = stored.hidden.deviceId === undefined ? '' : mobileUse
    const facts = { ...numberFactsOf(stored), usedBy: usedBy ?? others }
    return write(view, set, foundRecord(stored), facts, unasked)
  }

  return {
    repair,
    renormalise,
    addMobile,
    removeMobile,
    addUse,

    plan: {
      /** `merge`: null removes a field. */
      async update(view: NumberView, request: Update): Promise<NumberPlan> {
        const { by, fields, how } = request
        const stored = await own(view, request)
        await assertAuthorised(request, stored)
        const refusal = changeRefusal(by.accountId, rightsOf(by), 'change')
        if (refusal) throw failure(numberForbidden, { cause: refusal })
        const facts = numberFactsOf(stored)
        const carrier = carrierIn({ fields, by }, stored.carrier, 'refused')
        if (carrier !== stored.carrier) assertOrdered(stored)
        const wish = how === 'merge' ? mergeObject(stored.doc, fields) : fields
        const written = withFields({ ...facts, carrier }, wish, by)
        const origin = { asked: carrier === stored.carrier, isOperator: isSuperduper(by) }
        return write(view, changeSetOf(request), foundRecord(stored), written, origin)
      },

      use: (view: NumberView, { author, ...use }: NumberUse & { author: Author }): Promise<NumberPlan> =>
        addUse(view, new ChangeSet(author), use),
    },
  }
}

const bareFacts = (stored: NumberRecord, state: NumberState, accountId: string): NumberFacts => {
  const { features: _, deviceId: __, reserveHistory: ___, pendingOrder: ____, ...kept } = stored.hidden
  const previous = stored.accountId ? { previouslyAssignedTo: stored.accountId } : {}
  const left = isLocal(stored.carrier) ? { [localFeature]: {} } : {}
  const hidden = { ...kept, ...previous, features: left }
  return { accountId, state, carrier: stored.carrier, usedBy: '', doc: {}, hidden }
}

/** Releases of numbers. */
export const createReleases = (deps: NumberDeps, planner: NumberPlanner) => {
  const { store, settings, desk, findAccount } = deps
  const { settle, removable, assertAuthorised, addRemoval } = planner

  /** Adds a job that returns the number to its external carrier. */
  const returnToSupplier = (set: ChangeSet, stored: NumberRecord) => {
    const { id: number, accountId, carrier, hidden } = stored
    if (!desk.of(stored.carrier).supplier || accountId === '' || hidden.givenBack) return
    const { carrierData = {}, pendingOrder: order } = hidden
    const job = { id: newId(store.clock.now()), accountId, number }
    addNumberJob(set, releaseKind, job, { number, carrier, carrierData, ...present({ order }) })
  }

  const disconnect = (set: ChangeSet, stored: NumberRecord) => {
    const { id: number, accountId, hidden } = stored
    desk.of(stored.carrier).takeBack?.({ set, accountId, number, carrierData: hidden.carrierData ?? {} })
    returnToSupplier(set, stored)
  }

  const givenBack = (stored: NumberRecord, facts: NumberFacts): NumberFacts =>
    desk.of(stored.carrier).supplier ? { ...facts, hidden: { ...facts.hidden, givenBack: true } } : facts

  const stillThere = async (accountIds: readonly string[], gone: string | undefined) => {
    const found = await Promise.all(accountIds.map((id) => (id === gone ? undefined : findAccount(id))))
    return accountIds.filter((_, index) => found[index] !== undefined)
  }

  /** `gone`: an account that is being removed does not get numbers back. */
  const addRelease = async (
    view: NumberView,
    set: ChangeSet,
    stored: NumberRecord,
    gone?: string,
  ): Promise<NumberPlan> => {
    const history = earlierHolders(stored.hidden.reserveHistory ?? [], stored.accountId)
    const earlier = await stillThere(history, gone)
    const release = releaseOf(stored.carrier, earlier, await settings.of(numberManagerSettings))
    const found = foundRecord(stored)
    if (release.outcome === 'returned') {
      const facts = bareFacts(stored, 'reserved', release.accountId)
      const hidden = { ...facts.hidden, reserveHistory: release.history }
      return { ...(await settle(view, set, found, { ...facts, hidden })), deleted: true }
    }
    disconnect(set, stored)
    if (release.outcome === 'removed') return addRemoval(view, set, stored)
    const left = givenBack(stored, bareFacts(stored, release.state, ''))
    return { ...(await settle(view, set, found, left)), deleted: true }
  }

  return {
    addRelease,

    free: (view: NumberView, author: Author, stored: NumberRecord) =>
      settle(view, new ChangeSet(author), foundRecord(stored), bareFacts(stored, 'available', '')),

    drop: (view: NumberView, author: Author, stored: NumberRecord) =>
      addRemoval(view, new ChangeSet(author), stored),

    plan: {
      /** The number goes to the account that had reserved it before, else out of the account. */
      async release(view: NumberView, request: Existing): Promise<NumberPlan> {
        const stored = await removable(view, request)
        await assertAuthorised(request, stored)
        if (!isReleasable(stored.state, stored.carrier)) {
          const { released_state: to } = await settings.of(numberManagerSettings)
          throw failure(invalidStateTransition, { from: stored.state, to })
        }
        assertFree(stored)
        return addRelease(view, changeSetOf(request), stored)
      },

      async remove(view: NumberView, request: Existing): Promise<NumberPlan> {
        const stored = await removable(view, request)
        if (!isSuperduper(request.by)) throw failure(numberForbidden, {})
        assertFree(stored)
        const set = changeSetOf(request)
        returnToSupplier(set, stored)
        return addRemoval(view, set, stored)
      },
    },
  }
}
