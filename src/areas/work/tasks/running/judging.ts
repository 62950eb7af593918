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
  isLast: boolean
}

/** The result of a row, and whether the task ends with it. */
export type RowVerdict = Judged<RowEnd>

/** A verdict, or an external request that returns it. */
export type OpenVerdict = Judged<Exclude<RowResult, { outcome: 'stop' }>>

interface RowValidation {
  verdicts: readonly OpenVerdict[]
  /** The action returned `stop`. */
  stopped: boolean
  /** What the action or a verifier threw. */
  crash: unknown
}

export const failedRow = (row: InputRow, error: string, isLast = false): RowVerdict => ({
  row,
  result: { outcome: 'failed', error },
  isLast,
})

const badColumns = ({ verifiers = {} }: InputAction, { cells }: InputRow) =>
  Object.keys(cells).filter((name) => {
    const cell = cells[name]
    if (!cell) return false
    const verify = Object.hasOwn(verifiers, name) ? verifiers[name] : undefined
    return !isStorable(cell) || verify?.(cell) === false
  })

const emptyColumns = ({ mandatory }: InputAction, { cells }: InputRow) =>
  mandatory.filter((name) => !cells[name])

type Check = { row: InputRow; refusal?: RowVerdict; crash?: unknown }

/** Rows with invalid cells do not reach the action. Checking stops at a verifier that throws. */
const checkAll = (action: InputAction, rows: readonly InputRow[]): Check[] => {
  const checks: Check[] = []
  for (const row of rows) {
    try {
      const bad = [...new Set([...emptyColumns(action, row), ...badColumns(action, row)])]
      checks.push(
        bad.length > 0 ? { row, refusal: failedRow(row, `bad field(s) ${bad.join(' ')}`) } : { row },
      )
    } catch (error) {
      return [...checks, { row, refusal: failedRow(row, 'internal', true), crash: error }]
    }
  }
  return checks
}

/** Runs the action on the valid rows. Throws what it throws. */
export const validateRow = async (
  action: InputAction,
  rows: readonly InputRow[],
  context: TaskContext,
  earlier: (key: string) => unknown,
): Promise<RowValidation> => {
  const checks = checkAll(action, rows)
  const good: TaskRow[] = checks
    .filter(({ refusal }) => !refusal)
    .map(({ row: { number, cells, key } }) => ({ number, cells, key, earlier: earlier(key) }))
  const results = good.length > 0 ? await action.run(good, context) : []
  if (results.length !== good.length) throw new Error('the action did not give a result for each row')
  const verdicts: OpenVerdict[] = []
  const ordered = results.values()
  for (const { row, refusal } of checks) {
    const result = refusal?.result ?? ordered.next().value
    if (!result) break
    if (result.outcome === 'stop') return { verdicts, stopped: true, crash: undefined }
    verdicts.push(refusal ?? { row, result, isLast: false })
  }
  return { verdicts, stopped: false, crash: checks.at(-1)?.crash }
}

/** Changes that must be stored before the external requests. */
export const changesBefore = (verdicts: readonly OpenVerdict[]) =>
  verdicts.flatMap(({ result }) => (result.outcome === 'asks' && result.changes ? [result.changes] : []))

/** Sends the external requests. */
export const endAll = (verdicts: readonly OpenVerdict[]): Promise<RowVerdict[]> =>
  Promise.all(
    verdicts.map(async ({ row, result, isLast }) => ({
      row,
      result: result.outcome === 'asks' ? await result.end() : result,
      isLast,
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
