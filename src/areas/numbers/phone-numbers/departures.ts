import { type AccountRecord, isSuperduper } from '../../../auth/identity.ts'
import type { Clock } from '../../../lib/clock.ts'
import { failure } from '../../../lib/failure.ts'
import { newId } from '../../../lib/ids.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { invalidStateTransition, numberForbidden } from './failures.ts'
import type { NumberFeatures } from './features/operations.ts'
import { localFeature } from './features/rules.ts'
import {
  type CarrierRequests,
  type Existing,
  foundRecord,
  type NumberFacts,
  type NumberPlan,
} from './number-facts.ts'
import { addReturn, awaiting } from './orders.ts'
import { assertFree, type NumberPlanner, type NumberView, setOf } from './planner.ts'
import { earlierHolders, isLocal, isReleasable, type NumberState, releaseOf } from './rules.ts'
import { numberManagerSettings } from './settings.ts'
import type { NumberRecord } from './store.ts'

interface Deps {
  clock: Clock
  settings: Settings
  features: NumberFeatures
  desk: CarrierRequests
  book: NumberPlanner
  findAccount(id: string): Promise<AccountRecord | undefined>
}

/** What is left of a number that its owner gave up. */
const bareFacts = (stored: NumberRecord, state: NumberState, accountId: string): NumberFacts => {
  const { features: _, deviceId: __, reserveHistory: ___, pendingOrder: ____, ...kept } = stored.hidden
  const previous = stored.accountId ? { previouslyAssignedTo: stored.accountId } : {}
  const left = isLocal(stored.carrier) ? { [localFeature]: {} } : {}
  const hidden = { ...kept, ...previous, features: left }
  return { accountId, state, carrier: stored.carrier, usedBy: '', doc: {}, hidden }
}

/** Numbers that their owners give up, or lose. */
export const createReleases = ({ clock, settings, features, desk, book, findAccount }: Deps) => {
  const { settle, removable, assertAuthorised, addRemoval } = book

  const carrierOf = ({ carrier }: NumberRecord) => desk.of(carrier)

  /** Tells a supplier that its number is not needed any more, once that is committed. */
  const returnToSupplier = (set: ChangeSet, stored: NumberRecord) => {
    const { id: number, accountId, carrier, hidden } = stored
    if (!carrierOf(stored).supplier || accountId === '' || hidden.givenBack) return
    addReturn(set, {
      id: newId(clock.now()),
      accountId,
      number,
      carrier,
      carrierData: hidden.carrierData ?? {},
      ...awaiting(hidden),
    })
  }

  const disconnect = (set: ChangeSet, stored: NumberRecord) => {
    const { id: number, accountId, hidden } = stored
    carrierOf(stored).takeBack?.({ set, accountId, number, carrierData: hidden.carrierData ?? {} })
    returnToSupplier(set, stored)
  }

  /** Of a number that its supplier has back. */
  const givenBack = (stored: NumberRecord, facts: NumberFacts): NumberFacts =>
    carrierOf(stored).supplier ? { ...facts, hidden: { ...facts.hidden, givenBack: true } } : facts

  const releaseSettings = async () => {
    const { released_state, should_age, should_permanently_delete } = await settings.of(numberManagerSettings)
    return {
      releasedState: released_state,
      shouldAge: should_age,
      shouldPermanentlyDelete: should_permanently_delete,
    }
  }

  const stillThere = async (accountIds: readonly string[], gone: string | undefined) => {
    const found = await Promise.all(accountIds.map((id) => (id === gone ? undefined : findAccount(id))))
    return accountIds.filter((_, index) => found[index] !== undefined)
  }

  /** Takes a number from its owner, whoever asks. `gone`: an account that is being removed gets nothing back. */
  const addRelease = async (
    view: NumberView,
    set: ChangeSet,
    stored: NumberRecord,
    gone?: string,
  ): Promise<NumberPlan> => {
    const history = earlierHolders(stored.hidden.reserveHistory ?? [], stored.accountId)
    const earlier = await stillThere(history, gone)
    const release = releaseOf(stored.carrier, earlier, await releaseSettings())
    features.strip(set, stored)
    const found = foundRecord(stored.id, stored)
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

    /** An aged number is there for everybody. */
    free: (view: NumberView, author: Author, stored: NumberRecord) =>
      settle(view, new ChangeSet(author), foundRecord(stored.id, stored), bareFacts(stored, 'available', '')),

    /** Out of the inventory because its time is over. */
    drop: (view: NumberView, author: Author, stored: NumberRecord) =>
      addRemoval(view, new ChangeSet(author), stored),

    /** Back to who had reserved it before, or out of the account. */
    async release(view: NumberView, request: Existing): Promise<NumberPlan> {
      const stored = await removable(view, request)
      await assertAuthorised(request, stored)
      if (!isReleasable(stored.state, stored.carrier)) {
        const { releasedState } = await releaseSettings()
        throw failure(invalidStateTransition, { from: stored.state, to: releasedState })
      }
      assertFree(stored)
      return addRelease(view, setOf(request), stored)
    },

    /** Out of the inventory, whatever its state: the operator's right. */
    async remove(view: NumberView, request: Existing): Promise<NumberPlan> {
      const stored = await removable(view, request)
      if (!isSuperduper(request.by)) throw failure(numberForbidden, {})
      assertFree(stored)
      const set = setOf(request)
      features.strip(set, stored)
      returnToSupplier(set, stored)
      return addRemoval(view, set, stored)
    },
  }
}
