import { commasOnly, otherSeparator } from '../../../lib/csv-parse.ts'
import { failureKind } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import type { TaskAction } from './actions.ts'
import type { taskStatuses } from './schema.ts'

/** The 500 of the specification for invalid requests. */
export const invalidTaskRequest = failureKind(
  'invalid_request',
  ({ data }: { data: Record<string, unknown> }) => ({
    status: 500,
    message: 'invalid request',
    data,
  }),
)

export type TaskStatus = (typeof taskStatuses)[number]

type Operation = 'start' | 'stop' | 'remove' | 'retry' | 'continue'

const possibleIn: Record<TaskStatus, readonly Operation[]> = {
  pending: ['start', 'remove'],
  executing: ['stop'],
  stopped: ['remove', 'retry', 'continue'],
  success: ['remove', 'retry'],
  failure: ['remove', 'retry'],
  partial: ['remove', 'retry'],
  internal_error: ['remove', 'retry'],
}

export const isPossible = (operation: Operation, status: TaskStatus) => possibleIn[status].includes(operation)

export const refusalReasons: Record<Operation, string> = {
  start: 'task already started',
  stop: 'task is not running',
  remove: 'task is running',
  retry: 'task is not finished',
  continue: 'task was not stopped',
}

/** The final status of a task that was not stopped. `total`: undefined without input; the others: after a crash. */
export const finalStatus = ({
  total,
  succeeded,
  failed,
}: Record<'total' | 'succeeded' | 'failed', number | undefined>): TaskStatus => {
  if (succeeded === undefined || failed === undefined) return 'internal_error'
  if (total === undefined) {
    if (failed === 0) return 'success'
    return succeeded === 0 ? 'failure' : 'partial'
  }
  if (failed === 0 && succeeded >= total) return 'success'
  if (failed === total && succeeded === 0) return 'failure'
  return failed < total && succeeded < total ? 'partial' : 'internal_error'
}

interface TaskProgress {
  total: number | undefined
  done: number
  workedMs: number
  /** After each row. */
  pauseMs: number
}

/** Undefined until the speed is known. */
export const secondsLeft = ({ total, done, workedMs, pauseMs }: TaskProgress): number | undefined =>
  total === undefined || done === 0 || workedMs + pauseMs === 0
    ? undefined
    : Math.ceil(((total - done) * (workedMs / done + pauseMs)) / 1000)

/** Advice for a file with unknown columns. */
const hintOn = (unknown: readonly string[], isKnown: (name: string) => boolean) => {
  const isLine = (name: string) =>
    otherSeparator.test(name) && name.split(otherSeparator).some((part) => isKnown(columnName(part)))
  if (unknown.some(isLine)) return { message: `The ${commasOnly}` }
  const misspelt = unknown.find((name) => isKnown(columnName(name)))
  if (misspelt === undefined) return {}
  return {
    message: `Column names must be lower case without spaces: ${columnName(misspelt)}, not ${misspelt}`,
  }
}

const columnName = (name: string) => name.trim().toLowerCase().replace(/[ -]/g, '_').replace(/^"|"$/g, '')

const maxReportedColumns = 100

/** The problems of an input's columns by report key. */
export const columnProblems = (
  action: TaskAction,
  columns: readonly string[] | undefined,
): Record<string, unknown> => {
  if (action.input === 'none') return columns ? { expected_content: 'none' } : {}
  const { mandatory, optional, openPrefix } = action
  const has = columns ?? []
  const missing = mandatory.filter((name) => !has.includes(name))
  const isKnown = (name: string) =>
    mandatory.includes(name) ||
    optional.includes(name) ||
    (openPrefix !== undefined && name.startsWith(openPrefix) && name.length > openPrefix.length)
  const unknown = has.filter((name) => !isKnown(name))
  return {
    ...(missing.length > 0 ? { missing_mandatory_fields: missing } : {}),
    ...(unknown.length > 0
      ? { unknown_fields: unknown.slice(0, maxReportedColumns), ...hintOn(unknown, isKnown) }
      : {}),
    ...(columns ? {} : { expected_content: 'text/csv' }),
  }
}

const helpOf = ({ description, doc, ...action }: TaskAction) => {
  if (action.input === 'none') return { description, doc, ...present({ parameters: action.parameters }) }
  const { mandatory, optional } = action
  return { description, doc, expected_content: 'text/csv', mandatory, optional }
}

export const helpText = (actions: readonly TaskAction[]) => {
  const help: Record<string, Record<string, ReturnType<typeof helpOf>>> = {}
  for (const action of actions)
    help[action.category] = { ...help[action.category], [action.action]: helpOf(action) }
  return help
}

export const outputColumns = (
  action: TaskAction,
  header: readonly string[],
  isDryRun = false,
): readonly string[] => {
  if (action.input === 'none') return action.columns
  if (action.output !== 'input') return action.output
  const columns = isDryRun ? [...header, ...(action.dryRunColumns ?? [])] : header
  return columns.includes('error') ? columns : [...columns, 'error']
}

// FNV-1a.
const hashPrime = 16_777_619
const hashBasis = 2_166_136_261

const hashOf = (text: string) => {
  let hash = hashBasis
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), hashPrime)
  return hash >>> 0
}

const maxSlots = 2 ** 25

/** Which keys repeat, in bounded memory. Every repeated key is found, with a few false positives. */
export const createRepeats = (expected: number) => {
  const slots = new Uint8Array(Math.min(maxSlots, 2 ** Math.ceil(Math.log2(expected * 16 + 16))))
  const slotOf = (key: string) => hashOf(key) % slots.length
  return {
    add(key: string) {
      const slot = slotOf(key)
      slots[slot] = Math.min(2, (slots[slot] ?? 0) + 1)
    },
    has: (key: string) => slots[slotOf(key)] === 2,
  }
}
