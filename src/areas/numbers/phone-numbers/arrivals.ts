import { type AccountRecord, isSuperduper } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { newId } from '../../../lib/ids.ts'
import { actOf, type ChangeSet } from '../../../storage/change-set.ts'
import {
  invalidStateTransition,
  noChangeRequired,
  numberExists,
  numberForbidden,
  numberNotFound,
} from './failures.ts'
import {
  type Activation,
  type Creation,
  carrierIn,
  type FoundNumberFacts,
  foundRecord,
  type NumberFacts,
  type NumberPlan,
  type NumberRequest,
  noFacts,
  numberFactsOf,
  rightsOf,
  withFields,
} from './number-facts.ts'
import { addNumberJob, orderKind, orderTimeoutMs } from './orders.ts'
import {
  assertFree,
  assertOrdered,
  changeSetOf,
  type NumberDeps,
  type NumberPlanner,
  type NumberView,
} from './planner.ts'
import {
  absent,
  changeRefusal,
  creationRefusal,
  mayMove,
  maySee,
  mobileCarrier,
  moves,
  remembered,
  type TargetState,
  type Transition,
  takenOverByCreation,
} from './rules.ts'
import { numberManagerSettings } from './settings.ts'

const arrived = (
  facts: NumberFacts,
  target: TargetState,
  account: AccountRecord,
  move: Transition,
): NumberFacts => {
  const accountId = target === 'available' ? '' : account.id
  const { reserveHistory = [] } = facts.hidden
  const left = facts.accountId !== '' && facts.accountId !== accountId
  return {
    ...facts,
    accountId,
    state: target,
    usedBy: facts.accountId === accountId ? facts.usedBy : '',
    hidden: {
      ...facts.hidden,
      ...(left ? { previouslyAssignedTo: facts.accountId } : {}),
      ...(move.remember ? { reserveHistory: remembered(reserveHistory, account.id) } : {}),
    },
  }
}

/** Moves numbers between states and owners. */
const createMoves = ({ store: { clock }, desk }: NumberDeps, { standingOf, write }: NumberPlanner) => {
  /** A carrier with local stock assigns the number in the change set. A job orders it at an external carrier after the commit. */
  const obtain = async (
    set: ChangeSet,
    { account: { id: accountId }, author, orderId = newId(clock.now()) }: NumberRequest,
    { number, stored, facts: { carrier, hidden } }: FoundNumberFacts,
    facts: NumberFacts,
  ) => {
    const { carrierData = {} } = hidden
    const { supplier, take } = desk.of(carrier)
    const { givenBack: _, ...kept } = facts.hidden
    if (!supplier) {
      const taken = take?.({ set, accountId, number, carrierData }) ?? carrierData
      return { facts: { ...facts, hidden: { ...kept, carrierData: taken } } }
    }
    await supplier.assertReachable()
    const before = stored && { before: numberFactsOf(stored) }
    const job = { id: orderId, accountId, number, dueAt: clock.now() + orderTimeoutMs }
    const wish = { number, carrier, author, ...before }
    addNumberJob(set, orderKind, job, { carrierData, wish, act: actOf(set.author) })
    return { facts: { ...facts, hidden: { ...kept, pendingOrder: orderId } }, order: orderId }
  }

  /** Checks that the transition exists, and that the caller may make it. */
  const permittedMove = async ({ by, account }: NumberRequest, facts: NumberFacts, target: TargetState) => {
    const { state, accountId } = facts
    const standing = await standingOf(by, accountId, account)
    if (!maySee(facts, standing)) throw failure(numberForbidden, {})
    const isBound = facts.carrier === mobileCarrier && target !== 'in_service'
    const move = isBound ? undefined : moves[state][target]
    if (!move) throw failure(invalidStateTransition, { from: state, to: target })
    if (move.sameOwner === 'refused' && accountId === account.id) throw failure(noChangeRequired, {})
    if (move.who === 'creator' || !mayMove(move.who, facts, standing)) throw failure(numberForbidden, {})
    if (accountId !== '' && accountId !== account.id) {
      assertFree(facts)
      assertOrdered(facts)
    }
    return move
  }

  return async (
    view: NumberView,
    request: Activation,
    found: FoundNumberFacts,
    target: TargetState,
  ): Promise<NumberPlan> => {
    const { account, by, fields } = request
    const step = await permittedMove(request, found.facts, target)
    const set = changeSetOf(request)
    const placed = arrived(found.facts, target, account, step)
    const carrier = fields ? carrierIn({ fields, by }, placed.carrier, 'allowed') : placed.carrier
    const written = fields ? withFields({ ...placed, carrier }, fields, by) : placed
    const mustObtain =
      step.order || (written.hidden.givenBack && target !== 'available' && target !== 'aging')
    const { facts, ...order } = mustObtain ? await obtain(set, request, found, written) : { facts: written }
    const asked = fields !== undefined && carrier === placed.carrier
    return { ...(await write(view, set, found, facts, { asked, isOperator: isSuperduper(by) })), ...order }
  }
}

/** Assigns numbers to accounts. */
export const createAssignments = (deps: NumberDeps, planner: NumberPlanner) => {
  const { settings, planning, desk } = deps
  const { standingOf, write } = planner
  const move = createMoves(deps, planner)

  /** From the inventory, else from the results of the account's searches. */
  const wanted = async (view: NumberView, request: NumberRequest): Promise<FoundNumberFacts> => {
    const number = await planning.reconcile(request.number)
    const stored = await view.get(number)
    if (stored) return foundRecord(stored)
    const offer = await desk.offered(request.account.id, number)
    if (!offer) throw failure(numberNotFound, { number })
    const { carrier, carrierData = {} } = offer
    return { number, stored, facts: { ...noFacts, carrier, hidden: { features: {}, carrierData } } }
  }

  const newNumber = async (view: NumberView, request: Creation, number: string, state: string) => {
    const { by, account, fields, portedIn } = request
    const refusal = creationRefusal(by.accountId, state, rightsOf(by))
    if (refusal) throw failure(numberForbidden, { cause: refusal })
    const target = state as TargetState
    const { available_module_name, port_in_module_name } = await settings.of(numberManagerSettings)
    const standard = target === 'port_in' || portedIn ? port_in_module_name : available_module_name
    const carrier = carrierIn({ fields, by }, request.carrier ?? standard, 'allowed')
    const hidden = { ...noFacts.hidden, ...(portedIn ? { portedIn } : {}) }
    const facts = arrived(
      { ...noFacts, carrier, hidden },
      target,
      account,
      moves[absent][target] as Transition,
    )
    const how = { asked: true, isOperator: isSuperduper(by) }
    const written = withFields(facts, fields, by)
    return write(view, changeSetOf(request), { number, stored: undefined }, written, how)
  }

  /** Takes over a number that is aging, available or ported in. */
  const create = async (view: NumberView, request: Creation): Promise<NumberPlan> => {
    const number = await planning.reconcile(request.number)
    const asked = request.state ?? request.fields.create_with_state
    const state = typeof asked === 'string' ? asked : 'in_service'
    const stored = await view.get(number)
    if (!stored) return newNumber(view, request, number, state)
    const { by, account } = request
    if (!maySee(stored, await standingOf(by, stored.accountId, account))) throw failure(numberForbidden, {})
    if (!takenOverByCreation.has(stored.state)) throw failure(numberExists, { number })
    const refusal = state === 'port_in' ? undefined : changeRefusal(by.accountId, rightsOf(by), 'create')
    if (refusal) throw failure(numberForbidden, { cause: refusal })
    return move(view, request, foundRecord(stored), state as TargetState)
  }

  return {
    create,

    /** Puts a number into service that is available, reserved for the account, or in its tree. */
    activate: async (view: NumberView, request: Activation): Promise<NumberPlan> =>
      move(view, request, await wanted(view, request), 'in_service'),

    /** Public fields stay: fields that a caller passes are dropped. */
    reserve: async (view: NumberView, request: NumberRequest): Promise<NumberPlan> =>
      move(view, { ...request, fields: undefined }, await wanted(view, request), 'reserved'),

    port: (view: NumberView, request: Omit<Creation, 'state'>) =>
      create(view, { ...request, state: 'port_in' }),
  }
}
