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
import { assignFailure, noChangeRequired, numberForbidden, numberNotFound } from '../failures.ts'
import type { NumberPlan, NumberRecord, Numbers, NumberView } from '../operations.ts'
import type { OrderEnd } from '../orders.ts'
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
interface EarlierRow {
  stored: NumberRecord | undefined
}

interface NumberTaskRow {
  view: NumberView
  number: string
  cells: TaskRow['cells']
  context: TaskContext
  /** Id of the order job, the same for each repeat of the row. */
  orderId: string
}

/** `find` has no plan. */
type RowPlan = NumberPlan | { set: undefined; number: NumberRecord }
const isPlan = (outcome: RowPlan): outcome is NumberPlan => 'deleted' in outcome

type Perform = (row: NumberTaskRow) => Promise<RowPlan>

const requestOf = ({ number, orderId, context: { actor, author, account } }: NumberTaskRow) => ({
  by: actor,
  author,
  account,
  number,
  orderId,
})

const pendingText = 'pending: the carrier has not confirmed the order yet'

/** Runs the orders of a batch together when its first row needs a result. */
const createBatchOrders = ({ jobs }: Numbers) => {
  const ids = new Set<string>()
  let ends: Promise<ReadonlyMap<string, OrderEnd>> | undefined
  return {
    add: (id: string) => void ids.add(id),
    async end(id: string): Promise<OrderEnd> {
      ends ??= jobs.carryOut([...ids])
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

interface NumberAction {
  description: string
  doc: string
  optional?: readonly string[]
  /** Accepts columns of custom fields. */
  isOpen?: true
}

const updated = { optional: ['carrier_name', ...featureColumns], isOpen: true } as const

const actions = {
  find: {
    description: 'Find numbers',
    doc: 'Shows numbers that are available, belong to the account or a sub-account, or are reserved by a parent account.',
  },
  import: {
    description: 'Bulk-import numbers',
    doc: [
      'Creates each number for the account of its row, else for that of the task.',
      'Only operators can set state and carrier_module.',
    ].join('\n'),
    optional: numberColumns.filter((column) => column !== 'e164'),
    isOpen: true,
  },
  assign_to: {
    description: 'Bulk-assign numbers to an account',
    doc: 'Activates existing numbers for the account of their row, else for that of the task.',
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
    doc: 'Releases numbers: to the account that had reserved them, to the pool, or out of the inventory.',
  },
  reserve: {
    description: 'Bulk-reserve numbers',
    doc: 'Reserves existing numbers for the account of their row, else for that of the task.',
    optional: ['account_id'],
  },
  delete: {
    description: 'Bulk-remove numbers from the inventory',
    doc: 'For operators only. The number is deleted in every state.',
  },
} as const satisfies Record<string, NumberAction>

const createPerformers = ({
  numbers,
  settings,
  validate,
  findAccount,
}: NumberTaskDeps): Readonly<Record<keyof typeof actions, Perform>> => {
  /** The account of the row if the caller may reach it, else that of the task. */
  const accountOf = async ({ cells, context }: NumberTaskRow): Promise<AccountRecord> => {
    const { account, actor } = context
    if (!cells.account_id) return account
    const named = await findAccount(cells.account_id)
    if (named && (isSuperduper(actor) || isWithin(actor, named))) return named
    throw failure(assignFailure, { cause: cells.account_id })
  }

  const validated = async (fields: Json): Promise<Json> => {
    if (Object.keys(fields).length === 0) return fields
    const { value, problems } = await validate(PhoneNumber, fields)
    if (hasProblems(problems)) throw invalid(problems)
    return value
  }

  /** Only operators choose state and carrier. */
  const originOf = async ({ cells, context }: NumberTaskRow) => {
    const isOperator = isSuperduper(context.actor)
    if (cells.ported_in === 'true') return { state: 'in_service', portedIn: true } as const
    const { import_defaults_to_carrier: standard } = await settings.of(numberManagerSettings)
    const carrier = (isOperator && cells.carrier_module) || standard
    return { state: (isOperator && cells.state) || 'in_service', carrier }
  }

  const update =
    (how: 'merge' | 'replace'): Perform =>
    async (row) => {
      const { view, number, cells, context } = row
      const fields = publicFieldsIn(cells)
      const known = how === 'merge' ? await numbers.visible(view, context.actor, number) : undefined
      const whole = await validated(known ? mergeObject(known.doc, fields) : fields)
      const request = { ...requestOf(row), reach: 'tree' as const, how: 'replace' as const }
      return numbers.plan.update(view, { ...request, fields: whole })
    }

  const assign =
    (make: typeof numbers.plan.reserve): Perform =>
    async (row) => {
      const account = await accountOf(row)
      const number = await numbers.reconcile(row.number)
      if (!(await row.view.get(number))) throw failure(numberNotFound, { number })
      return make(row.view, { ...requestOf(row), account })
    }

  return {
    find: async ({ view, number, context }) => ({
      set: undefined,
      number: await numbers.visible(view, context.actor, number),
    }),

    async import(row) {
      const account = await accountOf(row)
      const fields = await validated(publicFieldsIn(row.cells))
      return numbers.plan.create(row.view, { ...requestOf(row), account, fields, ...(await originOf(row)) })
    },

    assign_to: assign(numbers.plan.activate),
    update_merge: update('merge'),
    update_overwrite: update('replace'),
    release: (row) => numbers.plan.release(row.view, { ...requestOf(row), reach: 'tree' }),
    reserve: assign(numbers.plan.reserve),

    async delete(row) {
      if (!isSuperduper(row.context.actor)) throw failure(numberForbidden, {})
      return numbers.plan.remove(row.view, { ...requestOf(row), reach: 'tree' })
    },
  }
}

/** Runs the rows of an action, and waits for the orders that they make. */
const createRowRunner = ({ numbers, findAccount }: NumberTaskDeps) => {
  const rowOf = async (number: NumberRecord) => {
    const account = number.accountId === '' ? undefined : await findAccount(number.accountId)
    return numberRow(number, account?.doc.name)
  }

  const endOf = async (number: string, end: OrderEnd): Promise<RowEnd<EarlierRow>> => {
    if (end === 'refused') return { outcome: 'failed', error: errorTextOf(numbers.jobs.refusal(number)) }
    const stored = await numbers.findAnywhere(number)
    const shown = stored ? await rowOf(stored) : { e164: number }
    return { outcome: 'done', output: [end === 'pending' ? { ...shown, error: pendingText } : shown] }
  }

  /** A row whose order is pending. */
  const asking = (
    orders: BatchOrders,
    id: string,
    number: string,
    set?: ChangeSet,
  ): RowResult<EarlierRow> => {
    orders.add(id)
    const end = async () => endOf(number, await orders.end(id))
    return { outcome: 'asks', end, ...(set ? { changes: set } : {}) }
  }

  /** The result of a row that ran before without being recorded. */
  const earlierResult = async (orders: BatchOrders, { orderId }: NumberTaskRow, number: string) => {
    const end = await numbers.jobs.orderEnd(orderId)
    if (end === undefined) return undefined
    return end === 'pending' ? asking(orders, orderId, number) : endOf(number, end)
  }

  const resultOf = async (
    outcome: RowPlan,
    row: NumberTaskRow,
    orders: BatchOrders,
  ): Promise<RowResult<EarlierRow>> => {
    const { set, number } = outcome
    const { view, context, orderId } = row
    if (!context.dryRun) {
      if (isPlan(outcome) && outcome.order)
        return (await earlierResult(orders, row, number.id)) ?? asking(orders, orderId, number.id, set)
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

  const attempt = async (
    perform: Perform,
    row: NumberTaskRow,
    orders: BatchOrders,
  ): Promise<RowResult<EarlierRow>> => {
    try {
      return await resultOf(await perform(row), row, orders)
    } catch (error) {
      if (!(error instanceof Failure) || isOutage(error)) throw error
      const failed = { outcome: 'failed', error: errorTextOf(error) } as const
      // The row's own order may have made the change already.
      if (!isFailure(error, noChangeRequired) || row.context.dryRun) return failed
      return (await earlierResult(orders, row, await numbers.normalize(row.number))) ?? failed
    }
  }

  const run = async (perform: Perform, rows: readonly TaskRow<EarlierRow>[], context: TaskContext) => {
    const texts = rows.map(({ cells }) => cells.e164 ?? '')
    const view = await numbers.preload(texts)
    const orders = createBatchOrders(numbers)
    const results: RowResult<EarlierRow>[] = []
    const takeTurns = createLoopYield()
    for (const [number, { cells, earlier, number: place }] of zip(texts, rows)) {
      if (earlier) view.put(await numbers.normalize(number), earlier.stored)
      const orderId = context.idOfRow(place)
      results.push(await attempt(perform, { view, number, cells, context, orderId }, orders))
      await takeTurns()
    }
    return results
  }

  return run
}

/** Actions of tasks for the numbers of a CSV. */
export const createNumberInputActions = (deps: NumberTaskDeps): TaskAction[] => {
  const run = createRowRunner(deps)
  const performers = createPerformers(deps)
  const actionOf = (
    action: keyof typeof actions,
    { description, doc, optional = [], isOpen }: NumberAction,
  ): InputAction<EarlierRow> => ({
    category: 'number_management',
    action,
    allow: accountMember,
    input: 'csv',
    description,
    doc,
    mandatory: ['e164'],
    optional,
    ...(isOpen ? { openPrefix: ownFieldPrefix } : {}),
    verifiers: cellVerifiers,
    ...(action === 'find' ? {} : { foresight: deps.foresight }),
    output: [...numberColumns, 'error'],
    key: ({ e164 = '' }) => e164,
    run: (rows, context) => run(performers[action], rows, asAgreed(context)),
    errorOf: errorTextOf,
  })
  const names = Object.keys(actions) as (keyof typeof actions)[]
  return names.map((name) => actionOf(name, actions[name]))
}
