import { isSuperduper } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { mergeObject } from '../../../lib/json-merge.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { numberForbidden, numberNotFound } from './failures.ts'
import type { NumberFeatures } from './features/operations.ts'
import { localFeature } from './features/rules.ts'
import {
  carrierIn,
  factsOf,
  foundRecord,
  type NumberFacts,
  type NumberPlan,
  noFacts,
  rightsOf,
  type Update,
  type Use,
  withFields,
} from './number-facts.ts'
import type { NumberPlanning } from './numbering/operations.ts'
import { assertOrdered, createNumberView, type NumberPlanner, type NumberView, setOf } from './planner.ts'
import { changeRefusal, mobileCarrier } from './rules.ts'
import type { NumberRecord } from './store.ts'

interface MobileTie {
  number: string
  stored: NumberRecord | undefined
  accountId: string
  deviceId: string
}

/** The use of numbers that mobile devices answer to. */
const mobileUse = 'mobile'

/** A number that no mobile device answers to any more. */
const withoutDevice = (facts: NumberFacts): NumberFacts => {
  const { deviceId, ...hidden } = facts.hidden
  if (deviceId === undefined) return facts
  const { mobile: _, ...doc } = facts.doc
  return { ...facts, doc, hidden, usedBy: facts.usedBy === mobileUse ? '' : facts.usedBy }
}

interface Deps {
  features: NumberFeatures
  book: NumberPlanner
  planning: NumberPlanning
}

/** Numbers that change where they are. */
export const createChanges = ({ features, book, planning }: Deps) => {
  const { numbers, settle, rewrite, own, assertAuthorised, addRemoval } = book

  /** What follows from settings and from other records, anew. */
  const repair = async (
    view: NumberView,
    author: Author,
    stored: NumberRecord,
    findDevice: (accountId: string, deviceId: string) => Promise<object | undefined>,
  ): Promise<NumberPlan> => {
    const { deviceId } = stored.hidden
    const isTied = deviceId !== undefined && (await findDevice(stored.accountId, deviceId)) !== undefined
    const facts = isTied ? factsOf(stored) : withoutDevice(factsOf(stored))
    const set = new ChangeSet(author)
    const dressed = await features.apply(set, stored.id, facts, {
      before: stored,
      asked: false,
      isOperator: false,
    })
    return settle(view, set, foundRecord(stored.id, stored), dressed)
  }

  /**
   * The number as the rules of today write it. What a device answers to keeps its name: the device tells it too; so
   * does what was ordered under it.
   * Its new name may be another number's already.
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
    return rewrite(view, new ChangeSet(author), stored, number)
  }

  /** A number of a mobile device: the account's own, or one that comes with the device. */
  const addMobile = async (set: ChangeSet, { number, stored, accountId, deviceId }: MobileTie) => {
    const facts = stored
      ? factsOf(stored)
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

  /** A number that came with its device goes with it. */
  const removeMobile = (set: ChangeSet, stored: NumberRecord) => {
    const view = createNumberView(numbers)
    if (stored.carrier === mobileCarrier) return addRemoval(view, set, stored)
    return settle(view, set, foundRecord(stored.id, stored), withoutDevice(factsOf(stored)))
  }

  /**
   * What the number leads to from now on. An area that routes calls says it of the account's numbers; what leads nowhere
   * any more and has a mobile device leads to that.
   */
  const addUse = async (
    view: NumberView,
    set: ChangeSet,
    { accountId, number, usedBy }: Use,
  ): Promise<NumberPlan> => {
    const stored = await view.get(number)
    if (stored?.accountId !== accountId) throw failure(numberNotFound, { number })
    const others = stored.hidden.deviceId === undefined ? '' : mobileUse
    const facts = { ...factsOf(stored), usedBy: usedBy ?? others }
    const told = { before: stored, asked: false, isOperator: false }
    const dressed = await features.apply(set, number, facts, told)
    return settle(view, set, foundRecord(number, stored), dressed)
  }

  return {
    repair,
    renormalise,
    addMobile,
    removeMobile,

    /** Public fields, replaced or merged (null removes). */
    async update(view: NumberView, request: Update): Promise<NumberPlan> {
      const { by, fields, how } = request
      const stored = await own(view, request)
      await assertAuthorised(request, stored)
      const refusal = changeRefusal(by.accountId, rightsOf(by), 'change')
      if (refusal) throw failure(numberForbidden, { cause: refusal })
      const facts = factsOf(stored)
      const carrier = carrierIn({ fields, by }, stored.carrier, 'refused')
      if (carrier !== stored.carrier) assertOrdered(stored)
      const wish = how === 'merge' ? mergeObject(stored.doc, fields) : fields
      const written = withFields({ ...facts, carrier }, wish, by)
      const set = setOf(request)
      const dressed = await features.apply(set, stored.id, written, {
        before: stored,
        asked: carrier === stored.carrier,
        isOperator: isSuperduper(by),
      })
      return settle(view, set, foundRecord(stored.id, stored), dressed)
    },

    addUse,

    /** The same by itself. */
    use: (view: NumberView, { author, ...use }: Use & { author: Author }): Promise<NumberPlan> =>
      addUse(view, new ChangeSet(author), use),
  }
}
