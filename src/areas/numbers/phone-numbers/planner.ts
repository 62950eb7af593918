import { type AccountRecord, isSuperduper } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import type { Settings } from '../../../settings/settings.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { numberForbidden, numberInvalid, numberNotFound } from './failures.ts'
import type { NumberFeatures } from './features.operations.ts'
import {
  type CarrierRequests,
  type Existing,
  type FoundNumberFacts,
  isUnchanged,
  type NumberCaller,
  type NumberFacts,
  type NumberPlan,
  type NumberRequest,
  noFacts,
  numberAt,
  reaches,
} from './number-facts.ts'
import type { NumberPlanning } from './numbering.ts'
import { type CallerRights, localFeature, mayMove } from './rules.ts'
import { createNumberStore, type NumberRecord, type NumberStore } from './store.ts'

/** The stored numbers with the plans of one batch applied. Valid for one commit. */
export interface NumberView {
  /** By the normalised number. */
  get(number: string): Promise<NumberRecord | undefined>
  put(number: string, record: NumberRecord | undefined): void
  /** Whether the batch already requires the account; the first caller must add that. */
  holdsAccount(accountId: string): boolean
}

export const createNumberView = (
  store: NumberStore,
  known: Map<string, NumberRecord | undefined> = new Map(),
): NumberView => {
  const held = new Set<string>()
  return {
    async get(number) {
      if (!known.has(number)) known.set(number, await store.findAnywhere(number))
      return known.get(number)
    },
    put: (number, record) => void known.set(number, record),
    holdsAccount(accountId) {
      const holds = held.has(accountId)
      held.add(accountId)
      return holds
    },
  }
}

type NumberCount = readonly [category: string, item: string]

const countsOf = ({ carrier, classifier, hidden }: NumberRecord): NumberCount[] => {
  const features = Object.keys(hidden.features)
  const services = features.map((feature): NumberCount => ['number_services', feature])
  const carriers: NumberCount[] = [['number_carriers', carrier]]
  return features.includes(localFeature)
    ? [...carriers, ...services]
    : [['phone_numbers', classifier], ...carriers, ...services]
}

const countedAtOnce = 500

/** [category, item] of each number of an account, in batches. */
export async function* countedNumbers(
  { pages }: NumberStore,
  accountId: string,
): AsyncGenerator<readonly NumberCount[]> {
  for await (const numbers of pages(accountId, countedAtOnce)) yield numbers.flatMap(countsOf)
}

/** The quantities that a number is part of, by account and count. */
const quantitiesOf = (number: NumberRecord | undefined) =>
  new Map(
    (number?.accountId ? countsOf(number) : []).map(
      (count) => [[number?.accountId, ...count].join('\n'), count] as const,
    ),
  )

/** Changes the quantities of the owners before and after. */
export const addCounts = (
  set: ChangeSet,
  before: NumberRecord | undefined,
  after: NumberRecord | undefined,
) => {
  const [gone, come] = [quantitiesOf(before), quantitiesOf(after)]
  for (const [key, count] of gone) if (before && !come.has(key)) set.count(before.accountId, ...count, -1)
  for (const [key, count] of come) if (after && !gone.has(key)) set.count(after.accountId, ...count, 1)
}

/** Parts of the operations on numbers. */
export interface NumberDeps {
  store: Store
  settings: Settings
  planning: NumberPlanning
  features: NumberFeatures
  desk: CarrierRequests
  findAccount(id: string): Promise<AccountRecord | undefined>
}

export const assertFree = ({ hidden }: NumberFacts) => {
  if (hidden.deviceId === undefined) return
  throw failure(numberInvalid, { cause: `the number belongs to the mobile device ${hidden.deviceId}` })
}

/** A number with a pending order stays with the account that ordered it. */
export const assertOrdered = ({ hidden }: NumberFacts) => {
  if (hidden.pendingOrder === undefined) return
  throw failure(numberInvalid, { cause: 'the carrier has not confirmed the order of the number yet' })
}

export const changeSetOf = (request: NumberRequest) => new ChangeSet(request.author)

export type NumberPlanner = ReturnType<typeof createNumberPlanner>

export const createNumberPlanner = ({ store, planning, features, findAccount }: NumberDeps) => {
  const numbers = createNumberStore(store)

  const standingOf = async (
    by: NumberCaller,
    ownerId: string,
    target: AccountRecord,
  ): Promise<CallerRights> => ({
    isOperator: isSuperduper(by),
    isAboveOwner: ownerId !== '' && reaches(by, await findAccount(ownerId)),
    isBelowOwner: ownerId !== '' && by.account.hidden.tree.includes(ownerId),
    isAboveTarget: reaches(by, target),
  })

  const draft = async (
    number: string,
    known: Pick<NumberRecord, 'created' | 'country'> | undefined,
    facts: NumberFacts,
  ) => {
    const modified = gregorianNow(store.clock)
    const version = { created: known?.created ?? modified, modified, revision: randomHex(16) }
    return numberAt(number, { ...version, country: known?.country }, facts, await planning.rules())
  }

  /**
   * Adds the changed or renamed number to the change set; nothing if it is unchanged. An empty country of `known` is
   * looked up again.
   */
  const settle = async (
    view: NumberView,
    set: ChangeSet,
    { number, stored }: Pick<FoundNumberFacts, 'number' | 'stored'>,
    facts: NumberFacts,
    known: Pick<NumberRecord, 'created' | 'country'> | undefined = stored,
  ): Promise<NumberPlan> => {
    const after = await draft(number, known, facts)
    const isRenamed = stored !== undefined && number !== stored.id
    if (stored && !isRenamed && isUnchanged(stored, after))
      return { set: undefined, number: stored, deleted: false }
    if (!stored) numbers.insert(set, after)
    else if (!isRenamed) numbers.replace(set, stored, after)
    else {
      numbers.rename(set, stored, after)
      view.put(stored.id, undefined)
    }
    const gets = after.accountId !== '' && after.accountId !== stored?.accountId
    if (gets && !view.holdsAccount(after.accountId)) numbers.requireAccount(set, after.accountId)
    addCounts(set, stored, after)
    view.put(number, after)
    return { set, number: after, deleted: false }
  }

  /** Applies the features of the public fields, and adds the changed number to the change set. */
  const write = async (
    view: NumberView,
    set: ChangeSet,
    { number, stored }: Pick<FoundNumberFacts, 'number' | 'stored'>,
    facts: NumberFacts,
    how: { asked: boolean; isOperator: boolean },
  ) => {
    const complete = await features.apply(facts, { before: stored, ...how })
    return settle(view, set, { number, stored }, complete)
  }

  const own = async (view: NumberView, request: Existing): Promise<NumberRecord> => {
    const number = await planning.reconcile(request.number)
    const stored = await view.get(number)
    const missing = failure(numberNotFound, { number })
    if (!stored || stored.accountId === '') throw missing
    if (stored.accountId === request.account.id) return stored
    const owner = request.reach === 'tree' ? await findAccount(stored.accountId) : undefined
    const isBelow = owner?.hidden.tree.includes(request.account.id) === true
    if (!isBelow || !(isSuperduper(request.by) || reaches(request.by, owner))) throw missing
    return stored
  }

  /** Operators also remove numbers without owner, below any account. */
  const removable = async (view: NumberView, request: Existing): Promise<NumberRecord> => {
    const stored = await view.get(await planning.reconcile(request.number))
    return stored?.accountId === '' && isSuperduper(request.by) ? stored : own(view, request)
  }

  const assertAuthorised = async ({ by, account }: NumberRequest, number: NumberRecord) => {
    const standing = await standingOf(by, number.accountId, account)
    if (!mayMove('authorised', number, standing)) throw failure(numberForbidden, {})
  }

  const addRemoval = async (view: NumberView, set: ChangeSet, stored: NumberRecord): Promise<NumberPlan> => {
    numbers.remove(set, stored)
    addCounts(set, stored, undefined)
    view.put(stored.id, undefined)
    const bare = { ...noFacts, state: 'deleted' as const, carrier: stored.carrier }
    return { set, number: await draft(stored.id, stored, bare), deleted: true }
  }

  return { numbers, standingOf, settle, write, own, removable, assertAuthorised, addRemoval }
}
