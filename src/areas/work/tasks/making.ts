import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import { superduper } from '../../../auth/policies.ts'
import type { BatchPart, RunKey } from '../../../batches/store.ts'
import { badIdentifier, badIdentifierList, failure, forbidden, invalid } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { newId } from '../../../lib/ids.ts'
import type { Json } from '../../../lib/json.ts'
import { describeError } from '../../../lib/log.ts'
import type { Author } from '../../../storage/change-set.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import { committed, type Store } from '../../../storage/store.ts'
import type { Quotas } from '../../accounts/quotas/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { TaskAction } from './actions.ts'
import { csvOfRecords, type TaskIntake, takeIn } from './intake.ts'
import { columnProblems, invalidTaskRequest, outputColumns, refusalReasons } from './rules.ts'
import type { TaskRecord, TaskStore } from './store.ts'

export type TaskInput =
  | { kind: 'csv'; chunks: AsyncIterable<Uint8Array> }
  | { kind: 'records'; records: readonly Json[] }
  | { kind: 'none' }

export interface TaskOrder {
  actor: Actor
  author: Author
  account: AccountRecord
  category: string | undefined
  action: string | undefined
  input: TaskInput
  fileName: string | undefined
  dryRun: boolean
  /** The dry run whose prices the task accepts. */
  quoteId?: string | undefined
  /** A parameter of the request, for actions without input. */
  parameter(name: string): unknown
}

/** The task whose rows a new one processes. */
export interface Origin {
  task: TaskRecord
  /** `retry`: the failed rows; `continue`: the rows after the stop. */
  how: 'retry' | 'continue'
  /** Undefined for a task without input. */
  rowCount: number | undefined
  /** Number of rows before them, and the first task of the chain. */
  rowsBefore?: { taskId: string; count: number }
  /** Position at which a task without input continues. */
  position?: string | undefined
}

interface Deps extends DepsOf<'log'> {
  base: Store
  store: TaskStore
  actions: readonly TaskAction[]
  find(category: string, action: string): TaskAction | undefined
  requireRoomForInput: Quotas['requireRoomForInput']
}

const originFields = { retry: 'retry_of', continue: 'continuation_of' } as const

const invalidRequest = (data: Json) => failure(invalidTaskRequest, { data })

/** As CSV such records would be empty, without a message about missing columns. */
const isWithoutColumns = (input: TaskInput) =>
  input.kind === 'records' && input.records.every((record) => Object.keys(record).length === 0)

const noColumns: TaskIntake = { header: [], rowCount: 0, incomplete: [] }

/** Validates an input and, if the action takes one, stores it while the account's quota allows it. */
const receive = async (
  { input, author }: Pick<TaskOrder, 'input' | 'author'>,
  action: TaskAction | undefined,
  key: RunKey,
  { store, requireRoomForInput }: Pick<Deps, 'store' | 'requireRoomForInput'>,
): Promise<TaskIntake | undefined> => {
  if (input.kind === 'none') return undefined
  const chunks = input.kind === 'csv' ? input.chunks : csvOfRecords(input.records)
  if (action?.input !== 'csv') return takeIn(chunks, { mandatory: [] })
  await store.beginUpload(key)
  let bytes = await store.inputBytes(key.accountId)
  const keep = async (part: BatchPart) => {
    bytes += part.content.length
    await requireRoomForInput(author, key.accountId, bytes)
    await store.keepInput(key, part)
  }
  return takeIn(chunks, { mandatory: action.mandatory, keep })
}

/** Mandatory columns; for JSON records they must be in the first one. */
const requireSound = (action: TaskAction, input: TaskInput, intake: TaskIntake | undefined) => {
  const missingInFirst =
    input.kind === 'records' && action.input === 'csv'
      ? action.mandatory.filter((name) => !Object.hasOwn(input.records[0] ?? {}, name))
      : []
  const problems = {
    ...columnProblems(action, intake?.header),
    ...(missingInFirst.length > 0 ? { missing_mandatory_fields: missingInFirst } : {}),
    ...(intake && intake.incomplete.length > 0 ? { missing_mandatory_values: intake.incomplete } : {}),
  }
  if (Object.keys(problems).length > 0) throw invalidRequest({ attachment: { type: problems } })
}

const settle = async (action: TaskAction, { parameter, account }: TaskOrder): Promise<Json | undefined> => {
  if (action.input !== 'none') return undefined
  const named = Object.keys(action.parameters ?? {}).map((name) => [name, parameter(name)] as const)
  const isGiven = ([, value]: (typeof named)[number]) => value !== undefined && value !== null && value !== ''
  const given = Object.fromEntries(named.filter(isGiven))
  if (action.settle) return action.settle(given, account)
  return action.parameters && given
}

interface Made {
  key: RunKey
  intake: TaskIntake | undefined
  parameters: Json | undefined
  origin: Origin | undefined
}

const contentOf = (
  { actor, author, fileName, dryRun }: TaskOrder,
  action: TaskAction,
  { key, intake, parameters, origin }: Made,
  now: number,
): Pick<TaskRecord, 'doc' | 'hidden'> => {
  const { consent: _, ...madeBy } = author
  return {
    doc: {
      account_id: key.accountId,
      auth_account_id: actor.accountId,
      category: action.category,
      action: action.action,
      status: 'pending',
      submit_timestamp: now,
      ...(fileName ? { file_name: fileName } : {}),
      ...(intake ? { total_count: intake.rowCount } : {}),
      csvs: intake ? ['in.csv'] : [],
      ...(dryRun ? { dry_run: true } : {}),
      ...(origin ? { [originFields[origin.how]]: origin.task.id } : {}),
      ...(parameters ? { parameters } : {}),
    },
    hidden: {
      author: madeBy,
      authMethod: actor.method,
      ...(actor.user ? { authUserId: actor.user.id } : {}),
      ...(origin?.rowsBefore ? { rowsBefore: origin.rowsBefore } : {}),
      ...(intake ? { header: intake.header } : {}),
      columns: outputColumns(action, intake?.header ?? [], dryRun),
    },
  }
}

/** The price lists of the named dry run, or of the original task if it was one. */
const termsOf = async (
  { quoteId }: TaskOrder,
  { accountId }: RunKey,
  origin: Origin | undefined,
  store: TaskStore,
) => {
  const shown = quoteId === undefined ? origin?.task : await store.tasks.find(accountId, quoteId)
  const terms = shown?.doc.dry_run ? await store.terms(shown) : undefined
  if (quoteId === undefined || terms !== undefined) return terms
  const message = 'Must be the id of a finished dry run of this account that reports charges'
  throw invalid({ quote_id: { invalid: { message, value: quoteId } } })
}

export const createMaker = (deps: Deps) => {
  const { base, store, actions, find, log } = deps
  const { clock } = base

  /** The order of checks decides the error of a task with several mistakes. The input is stored before the task. */
  const build = async (order: TaskOrder, key: RunKey, origin: Origin | undefined): Promise<TaskRecord> => {
    const { account, actor, author, input, category, action: name } = order
    if (!category || !name) throw invalidRequest({ message: 'invalid request' })
    const action = find(category, name)
    // Before the upload of the input.
    if (action && !action.allow.allows(actor, account, { account_id: account.id })) {
      throw failure(forbidden, { cause: `tasks of this kind may be created by: ${action.allow.name}` })
    }
    if (action && isWithoutColumns(input)) requireSound(action, input, noColumns)
    const intake = await receive(order, action, key, deps)
    if (!action) {
      const isKnown = actions.some((known) => known.category === category)
      throw failure(badIdentifierList, { values: [isKnown ? name : category] })
    }
    requireSound(action, input, intake)
    if (origin && intake?.rowCount !== origin.rowCount) {
      throw failure(badIdentifier, { cause: origin.task.id, reason: refusalReasons[origin.how] })
    }
    const terms = await termsOf(order, key, origin, store)
    const parameters = origin ? origin.task.doc.parameters : await settle(action, order)
    const content = contentOf(order, action, { key, intake, parameters, origin }, gregorianNow(clock))
    const task = store.tasks.draft(key.accountId, content, key.id)
    await committed(base, author, (set) => {
      requireRecord(set, holderOf(account))
      if (origin) requireRecord(set, holderOf(origin.task))
      store.insert(set, task, { hasInput: intake !== undefined, position: origin?.position })
      // A dry run stores the terms of its end.
      if (terms !== undefined && !order.dryRun) store.keepJson(set, task, 'terms', terms)
    })
    return task
  }

  /** A task on system data is stored in the operator's account, whatever account the path names. */
  const settled = (order: TaskOrder): TaskOrder => {
    const { category = '', action = '', actor, account } = order
    const isOperators = find(category, action)?.ofSystem && superduper.allows(actor, account, {})
    return isOperators ? { ...order, account: actor.account } : order
  }

  /** `origin`: the task whose rows are processed. The new one stays in its account. */
  return async (wish: TaskOrder, origin?: Origin): Promise<TaskRecord> => {
    const order = origin ? wish : settled(wish)
    const key = { accountId: order.account.id, id: newId(clock.now()) }
    try {
      return await build(order, key, origin)
    } catch (error) {
      await store.runs.discardUpload(key).catch((reason) => {
        const facts = { error: describeError(reason) }
        log.write('warn', 'the upload of a refused task is removed later', facts)
      })
      throw error
    }
  }
}
