import { type AccountRecord, isSuperduper, isWithin } from '../../../../auth/identity.ts'
import { accountMember } from '../../../../auth/policies.ts'
import { Failure, failure, hasProblems, invalid, isFailure, isOutage } from '../../../../lib/failure.ts'
import type { Json } from '../../../../lib/json.ts'
import { mergeObject } from '../../../../lib/json-merge.ts'
import { zip } from '../../../../lib/list.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Validate } from '../../../area.ts'
import type {
  ChargePreview,
  InputAction,
  RowEnd,
  RowResult,
  TaskAction,
  TaskContext,
  TaskRow,
} from '../../../work/tasks/operations.ts'
import type { OrderEnd } from '../errands.ts'
import { assignFailure, noChangeRequired, numberForbidden, numberNotFound } from '../failures.ts'
import type { NumberPlan, NumberRecord, Numbers, NumberView } from '../operations.ts'
import { PhoneNumber } from '../schema.ts'
import { numberManagerSettings } from '../settings.ts'
import { createLoopYield } from '../turns.ts'
import {
  cellVerifiers,
  errorTextOf,
  featureColumns,
  numberColumns,
  numberRow,
  ownFieldPrefix,
  publicFieldsIn,
} from './rules.ts'

export interface NumberTaskDeps {
  numbers: Numbers
  settings: Settings
  validate: Validate
  foresight: ChargePreview
  findAccount(id: string): Promise<AccountRecord | undefined>
  /** Same as POST phone_numbers/fix. */
  repair(author: Author, account: AccountRecord): Promise<unknown>
}

/** State of the number after an earlier row of a dry run. */
interface Left {
  stored: NumberRecord | undefined
}

interface Errand {
  view: NumberView
  number: string
  cells: TaskRow['cells']
  context: TaskContext
  /** Id of the order job, the same for each repeat of the row. */
  orderId: string
}

/** `find` has no plan. */
type Outcome = NumberPlan | { set: undefined; number: NumberRecord }
const isPlan = (outcome: Outcome): outcome is NumberPlan => 'deleted' in outcome

type Perform = (errand: Errand) => Promise<Outcome>

const requestOf = ({ number, orderId, context: { actor, author, account } }: Errand) => ({
  by: actor,
  author,
  account,
  number,
  orderId,
})

const pendingText = 'pending: the carrier has not confirmed the order yet'

/** Runs the orders of a batch together when its first row needs a result. */
const createBatchOrders = ({ errands }: Numbers) => {
  const ids = new Set<string>()
  let ends: Promise<ReadonlyMap<string, OrderEnd>> | undefined
  return {
    add: (id: string) => void ids.add(id),
    async end(id: string): Promise<OrderEnd> {
      ends ??= errands.carryOut([...ids])
      return (await ends).get(id) ?? 'pending'
    },
  }
}

type BatchOrders = ReturnType<typeof createBatchOrders>

/** The task's own acceptance of charges applies to each row. */
const asAgreed = (context: TaskContext): TaskContext => ({
  ...context,
  author: { ...context.author, acceptsCharges: context.acceptsCharges },
})

const withoutFacts = numberColumns.filter((column) => column !== 'e164')

const createWork = ({ numbers, settings, validate, findAccount }: NumberTaskDeps) => {
  const nameOf = async (accountId: string) =>
    accountId === '' ? undefined : (await findAccount(accountId))?.doc.name

  /** The account of the row if the caller may reach it, else that of the task. */
  const accountOf = async ({ cells, context }: Errand): Promise<AccountRecord> => {
    const { account, actor } = context
    if (!cells.account_id) return account
    const named = await findAccount(cells.account_id)
    if (named && (isSuperduper(actor) || isWithin(actor, named))) return named
    throw failure(assignFailure, { cause: cells.account_id })
  }

  const judged = async (fields: Json): Promise<Json> => {
    if (Object.keys(fields).length === 0) return fields
    const { value, problems } = await validate(PhoneNumber, fields)
    if (hasProblems(problems)) throw invalid(problems)
    return value
  }

  const requireStored = async ({ view, number }: Errand) => {
    const normal = await numbers.reconcile(number)
    const stored = await view.get(normal)
    if (!stored) throw failure(numberNotFound, { number: normal })
    return stored
  }

  /** Only operators choose state and carrier. */
  const originOf = async ({ cells, context }: Errand) => {
    const isOperator = isSuperduper(context.actor)
    if (cells.ported_in === 'true') return { state: 'in_service', portedIn: true }
    const { import_defaults_to_carrier: standard } = await settings.of(numberManagerSettings)
    const carrier = (isOperator && cells.carrier_module) || standard
    return { state: (isOperator && cells.state) || 'in_service', carrier }
  }

  const update =
    (how: 'merge' | 'replace'): Perform =>
    async (errand) => {
      const { view, number, cells, context } = errand
      const fields = publicFieldsIn(cells)
      const known = how === 'merge' ? await numbers.visible(view, context.actor, number) : undefined
      const whole = await judged(known ? mergeObject(known.doc, fields) : fields)
      const request = { ...requestOf(errand), reach: 'tree' as const, how: 'replace' as const }
      return numbers.plan.update(view, { ...request, fields: whole })
    }

  const performers = {
    async find({ view, number, context }: Errand): Promise<Outcome> {
      return { set: undefined, number: await numbers.visible(view, context.actor, number) }
    },

    async import(errand: Errand): Promise<Outcome> {
      const account = await accountOf(errand)
      const fields = await judged(publicFieldsIn(errand.cells))
      const origin = await originOf(errand)
      return numbers.plan.create(errand.view, { ...requestOf(errand), account, fields, ...origin })
    },

    async assign_to(errand: Errand): Promise<Outcome> {
      const account = await accountOf(errand)
      await requireStored(errand)
      return numbers.plan.activate(errand.view, { ...requestOf(errand), account })
    },

    async reserve(errand: Errand): Promise<Outcome> {
      const account = await accountOf(errand)
      await requireStored(errand)
      return numbers.plan.reserve(errand.view, { ...requestOf(errand), account })
    },

    update_merge: update('merge'),
    update_overwrite: update('replace'),

    release: (errand: Errand): Promise<Outcome> =>
      numbers.plan.release(errand.view, { ...requestOf(errand), reach: 'tree' }),

    async delete(errand: Errand): Promise<Outcome> {
      if (!isSuperduper(errand.context.actor)) throw failure(numberForbidden, {})
      return numbers.plan.remove(errand.view, { ...requestOf(errand), reach: 'tree' })
    },
  }

  const rowOf = async (number: NumberRecord) => numberRow(number, await nameOf(number.accountId))

  const endOf = async (number: string, end: OrderEnd): Promise<RowEnd<Left>> => {
    if (end === 'refused') return { outcome: 'failed', error: errorTextOf(numbers.errands.refusal(number)) }
    const stored = await numbers.findAnywhere(number)
    const row = stored ? await rowOf(stored) : { e164: number }
    return { outcome: 'done', output: [end === 'pending' ? { ...row, error: pendingText } : row] }
  }

  /** A row whose order is pending. */
  const asking = (orders: BatchOrders, id: string, number: string, set?: ChangeSet): RowResult<Left> => {
    orders.add(id)
    const end = async () => endOf(number, await orders.end(id))
    return { outcome: 'asks', end, ...(set ? { changes: set } : {}) }
  }

  /** The result of a row that ran before without being recorded. */
  const earlierResult = async (orders: BatchOrders, { orderId }: Errand, number: string) => {
    const end = await numbers.errands.orderEnd(orderId)
    if (end === undefined) return undefined
    return end === 'pending' ? asking(orders, orderId, number) : endOf(number, end)
  }

  const resultOf = async (
    outcome: Outcome,
    errand: Errand,
    orders: BatchOrders,
  ): Promise<RowResult<Left>> => {
    const { set, number } = outcome
    const { view, context, orderId } = errand
    if (!context.dryRun) {
      if (isPlan(outcome) && outcome.order)
        return (await earlierResult(orders, errand, number.id)) ?? asking(orders, orderId, number.id, set)
      const { pendingOrder } = number.hidden
      if (isPlan(outcome) && !set && pendingOrder) return asking(orders, pendingOrder, number.id)
    }
    return {
      outcome: 'done',
      output: [await rowOf(number)],
      ...(set ? { changes: set } : {}),
      ...(context.dryRun ? { state: { stored: await view.get(number.id) } } : {}),
    }
  }

  const attempt = async (perform: Perform, errand: Errand, orders: BatchOrders): Promise<RowResult<Left>> => {
    try {
      return await resultOf(await perform(errand), errand, orders)
    } catch (error) {
      if (!(error instanceof Failure) || isOutage(error)) throw error
      const failed = { outcome: 'failed', error: errorTextOf(error) } as const
      // The row's own order may have made the change already.
      if (!isFailure(error, noChangeRequired) || errand.context.dryRun) return failed
      return (await earlierResult(orders, errand, await numbers.normalize(errand.number))) ?? failed
    }
  }

  const run = async (perform: Perform, rows: readonly TaskRow<Left>[], context: TaskContext) => {
    const texts = rows.map(({ cells }) => cells.e164 ?? '')
    const view = await numbers.preload(texts)
    const orders = createBatchOrders(numbers)
    const results: RowResult<Left>[] = []
    const takeTurns = createLoopYield()
    for (const [number, { cells, earlier, number: place }] of zip(texts, rows)) {
      if (earlier) view.put(await numbers.normalize(number), earlier.stored)
      const orderId = context.idOfRow(place)
      results.push(await attempt(perform, { view, number, cells, context, orderId }, orders))
      await takeTurns()
    }
    return results
  }

  return { performers, run }
}

type Work = ReturnType<typeof createWork>

interface Wording {
  description: string
  doc: string
  optional?: readonly string[]
  /** Accepts columns of custom fields. */
  isOpen?: true
}

const updated = {
  optional: ['carrier_name', ...featureColumns],
  isOpen: true,
} as const

const wordings: Readonly<Record<keyof Work['performers'], Wording>> = {
  find: {
    description: 'Find numbers',
    doc: 'Shows the numbers that are available, or belong to the account, an account below it, or are reserved above it.',
  },
  import: {
    description: 'Bulk-import numbers',
    doc: [
      'Creates each number for the account of its row, else for that of the task.',
      'state and carrier_module are followed for the operator only.',
    ].join('\n'),
    optional: withoutFacts,
    isOpen: true,
  },
  assign_to: {
    description: 'Bulk-assign numbers to an account',
    doc: 'Puts numbers that exist into service for the account of their row, else for that of the task.',
    optional: ['account_id'],
  },
  update_merge: {
    description: 'Bulk-update numbers, keeping what the row does not say',
    doc: 'Merges public fields. Empty cells leave values as they are.',
    ...updated,
  },
  update_overwrite: {
    description: 'Bulk-update numbers, replacing all public fields',
    doc: 'Replaces public fields. Empty cells clear values.',
    ...updated,
  },
  release: {
    description: 'Bulk-release numbers',
    doc: 'Gives numbers back: to who had reserved them before, to the pool, or out of the inventory.',
  },
  reserve: {
    description: 'Bulk-reserve numbers',
    doc: 'Reserves numbers that exist for the account of their row, else for that of the task.',
    optional: ['account_id'],
  },
  delete: {
    description: 'Bulk-remove numbers from the inventory',
    doc: "The operator's right. Whatever its state, the number is gone afterwards.",
  },
}

const actionOf = (name: keyof Performers, work: Work, foresight: ChargePreview): InputAction<Left> => {
  const { description, doc, optional = [], isOpen } = wordings[name]
  return {
    category: 'number_management',
    action: name,
    allow: accountMember,
    input: 'csv',
    description,
    doc,
    mandatory: ['e164'],
    optional,
    ...(isOpen ? { openPrefix: ownFieldPrefix } : {}),
    verifiers: cellVerifiers,
    ...(name === 'find' ? {} : { foresight }),
    output: [...numberColumns, 'error'],
    key: ({ e164 = '' }) => e164,
    run: (rows, context) => work.run(work.performers[name], rows, asAgreed(context)),
    errorOf: errorTextOf,
  }
}

type Performers = Work['performers']

export const createNumberInputActions = (tools: NumberTaskDeps): TaskAction[] => {
  const work = createWork(tools)
  const names = Object.keys(wordings) as (keyof Work['performers'])[]
  return names.map((name) => actionOf(name, work, tools.foresight))
}
