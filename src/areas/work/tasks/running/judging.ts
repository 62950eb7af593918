import { type Actor, accountKind, isInService, userKind } from '../../../../auth/identity.ts'
import type { RowResults } from '../../../../batches/batches.ts'
import { isStorable } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import type {
  InputAction,
  OutputRow,
  RowEnd,
  RowResult,
  TaskAction,
  TaskContext,
  TaskRow,
} from '../actions.ts'
import type { InputRow } from '../files.ts'
import { type TaskRecord, taskAuthorOf } from '../store.ts'

const makerOf = async (store: Store, { doc, hidden }: TaskRecord): Promise<Actor | undefined> => {
  const { records } = store
  const accountId = doc.auth_account_id
  const account = await records.find(accountId, accountKind, accountId)
  if (!account || !(await isInService(store, account))) return undefined
  const user = hidden.authUserId ? await records.find(accountId, userKind, hidden.authUserId) : undefined
  if (hidden.authUserId && (!user || user.doc.enabled === false)) return undefined
  return { accountId, account, user, method: hidden.authMethod, claims: undefined, token: undefined }
}

/** Undefined if the creator of the task is gone or lost the right. `terms`: the accepted price lists. */
export const taskContextOf = async (
  store: Store,
  task: TaskRecord,
  action: TaskAction,
  terms?: unknown,
): Promise<TaskContext | undefined> => {
  const { records } = store
  await store.fence()
  const { accountId, doc, hidden } = task
  const account = await records.find(accountId, accountKind, accountId)
  const actor = await makerOf(store, task)
  if (!account || !actor || !action.allow.allows(actor, account, { account_id: accountId })) return undefined
  const { taskId, count } = hidden.rowsBefore ?? { taskId: task.id, count: 0 }
  return {
    idOfRow: (number) => `${taskId}-${count + number}`,
    account,
    actor,
    author: {
      ...taskAuthorOf(task),
      ...(terms === undefined ? {} : { consent: { terms, toJSON: () => undefined } }),
    },
    dryRun: doc.dry_run === true,
    acceptsCharges: doc.accept_charges !== false,
    parameters: doc.parameters ?? {},
  }
}

interface Judged<Result> {
  row: InputRow
  result: Result
}

export type RowVerdict = Judged<RowEnd>

/** A verdict, or an external request that returns it. */
export type OpenVerdict = Judged<Exclude<RowResult, { outcome: 'stop' }>>

interface RowValidation {
  verdicts: readonly OpenVerdict[]
  /** The task ends with these rows. */
  isOver: boolean
  /** The error of a verifier. */
  crash?: { error: unknown } | undefined
}

export const failedRow = (row: InputRow, error: string): RowVerdict => ({
  row,
  result: { outcome: 'failed', error },
})

/** Mandatory columns without a value, and columns with an invalid one. */
const badColumns = ({ mandatory, verifiers = {} }: InputAction, { cells }: InputRow) => {
  const invalid = Object.keys(cells).filter((name) => {
    const cell = cells[name]
    if (!cell) return false
    const verify = Object.hasOwn(verifiers, name) ? verifiers[name] : undefined
    return !isStorable(cell) || verify?.(cell) === false
  })
  return [...new Set([...mandatory.filter((name) => !cells[name]), ...invalid])]
}

/** Rows with invalid cells do not reach the action. Checking stops at a verifier that throws. */
const checkRows = (action: InputAction, rows: readonly InputRow[]) => {
  const refusals = new Map<InputRow, string>()
  for (const [index, row] of rows.entries()) {
    try {
      const bad = badColumns(action, row)
      if (bad.length > 0) refusals.set(row, `bad field(s) ${bad.join(' ')}`)
    } catch (error) {
      refusals.set(row, 'internal')
      return { checked: rows.slice(0, index + 1), refusals, crash: { error } }
    }
  }
  return { checked: rows, refusals, crash: undefined }
}

/** Runs the action on the valid rows. Throws what it throws. */
export const validateRows = async (
  action: InputAction,
  rows: readonly InputRow[],
  context: TaskContext,
  earlier: (key: string) => unknown,
): Promise<RowValidation> => {
  const { checked, refusals, crash } = checkRows(action, rows)
  const good: TaskRow[] = checked
    .filter((row) => !refusals.has(row))
    .map(({ number, cells, key }) => ({ number, cells, key, earlier: earlier(key) }))
  const results = good.length > 0 ? await action.run(good, context) : []
  if (results.length !== good.length) throw new Error('the action did not give a result for each row')
  const verdicts: OpenVerdict[] = []
  const ordered = results.values()
  for (const row of checked) {
    const refusal = refusals.get(row)
    const result = refusal === undefined ? ordered.next().value : failedRow(row, refusal).result
    if (!result) break
    if (result.outcome === 'stop') return { verdicts, isOver: true }
    verdicts.push({ row, result })
  }
  return { verdicts, isOver: crash !== undefined, crash }
}

/** Changes that must be stored before the external requests. */
export const changesBefore = (verdicts: readonly OpenVerdict[]) =>
  verdicts.flatMap(({ result }) => (result.outcome === 'asks' && result.changes ? [result.changes] : []))

/** Sends the external requests. */
export const endAll = (verdicts: readonly OpenVerdict[]): Promise<RowVerdict[]> =>
  Promise.all(
    verdicts.map(async ({ row, result }) => ({
      row,
      result: result.outcome === 'asks' ? await result.end() : result,
    })),
  )

const outputOf = (action: InputAction, { row, result }: RowVerdict): readonly OutputRow[] => {
  const { outcome, output } = result
  const base = action.output === 'input' ? row.cells : {}
  if (outcome === 'failed') {
    if (!output) return [{ ...row.cells, error: result.error }]
    return output.map((cells) => ({ ...base, error: result.error, ...cells }))
  }
  return (output ?? []).map((cells) => ({ ...base, ...cells }))
}

export const changesOfRows = (verdicts: readonly RowVerdict[]) =>
  verdicts.flatMap(({ result }) => result.changes ?? [])

/** In a dry run nothing changes. */
export const entryOfRows = (
  { doc, hidden: { columns } }: TaskRecord,
  action: InputAction,
  verdicts: readonly RowVerdict[],
): RowResults => {
  const failed = verdicts.filter(({ result }) => result.outcome === 'failed')
  return {
    succeeded: verdicts.length - failed.length,
    failed: failed.length,
    output: { columns, rows: verdicts.flatMap((verdict) => outputOf(action, verdict)) },
    failedRows: failed.map(({ row }) => row.values),
    changes: doc.dry_run ? [] : changesOfRows(verdicts),
  }
}
