// What a task can do. Other areas implement actions with these types, imported from `../tasks/operations.ts`, and
// contribute them in their `area.ts`.
import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import type { PlainPolicy } from '../../../auth/policies.ts'
import type { Failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'

/**
 * An input row by column name. A cell is undefined if it was blank, and the empty text if it was `""`: treat both as
 * empty.
 */
export type Cells = Readonly<Record<string, string | undefined>>

/** An output row by column name. Unknown columns are ignored. */
export type OutputRow = Readonly<Record<string, unknown>>

export interface TaskRow<State = unknown> {
  /** 1 is the first row after the header. */
  number: number
  cells: Cells
  /** The result of `key`. Unique among the rows of one `run`. */
  key: string
  /**
   * In a dry run: the `state` of the latest earlier row of this key, instead of what is stored. Undefined if there was
   * none.
   */
  earlier: State | undefined
}

interface Finished<State> {
  output?: readonly OutputRow[]
  /** Committed with the row's output and progress; dropped in a dry run. */
  changes?: ChangeSet
  /** In a dry run: what a later row of the same key would find stored. */
  state?: State
}

export type RowEnd<State = unknown> =
  | ({ outcome: 'done' } & Finished<State>)
  | ({ outcome: 'failed'; error: string } & Finished<State>)

/**
 * The result of a row. `done`: without `output` nothing is written (with `columns: 'own'`, give the row). If
 * the output repeats the input, the rows of `output` overwrite the input row. `failed`: without `output` one
 * row is written: the input cells of the output's columns, and `error`. Without `changes` nothing happens.
 * `asks`: an outside system must be asked. `changes` are committed first, without the row's output and
 * progress; then `end` asks and returns the result of the row. After a crash in between the row is validated
 * again and must lead to the same result. Not in a dry run. `stop`: the task ends here; the row is not counted.
 */
export type RowResult<State = unknown> =
  | RowEnd<State>
  | { outcome: 'asks'; changes?: ChangeSet; end(): Promise<RowEnd<State>> }
  | { outcome: 'stop' }

/** The account and actor of a task. Read again for each batch. */
export interface TaskContext {
  /** An id of a row for external systems. It stays the same when another task continues this one. */
  idOfRow(number: number): string
  /** The account that the task belongs to. */
  account: AccountRecord
  /** The creator of the task; it runs with their rights. */
  actor: Actor
  author: Author
  /** External systems must not be changed either. */
  dryRun: boolean
  acceptsCharges: boolean
  /** The result of `settle`. */
  parameters: Json
}

/** Money in dollars. */
export interface PreviewedCharge {
  account_id: string
  name: string
  /** Due now; negative: credited. */
  today: number
  /** Change of the monthly bill. */
  recurring: number
  invoices: readonly unknown[]
}

/** Computes the cost of changes that are not committed. */
export interface ChargePreview<Gathered = unknown> {
  /** Adds change sets. The result is stored as JSON; its size must not grow with the rows. */
  add(gathered: Gathered | undefined, sets: readonly ChangeSet[]): Promise<Gathered>
  priced(gathered: Gathered | undefined): Promise<PreviewedCharge[]>
  /** The price lists of an account, stored as JSON. */
  terms(accountId: string): Promise<unknown>
}

interface ActionDefinition {
  category: string
  action: string
  description: string
  doc: string
  /** Others get a 403. The task ends when its creator loses the right. */
  allow: PlainPolicy
  /** The subject belongs to no account: tasks of the operator are stored in the operator's account. */
  ofSystem?: true
  /** Who may read the input and output. Default: members of the account, and those above. */
  readers?: PlainPolicy
}

/** An action on each row of a CSV (or JSON records). */
export interface InputAction<State = unknown> extends ActionDefinition {
  input: 'csv'
  mandatory: readonly string[]
  optional: readonly string[]
  /** Prefix of further allowed columns: `opaque.`. */
  openPrefix?: string
  /** Whether a non-empty cell is valid. Rows with invalid ones fail with `bad field(s) X Y` before `run`. */
  verifiers?: Readonly<Record<string, (cell: string) => boolean>>
  /** Set if rows may cost something: a dry run reports the cost. */
  foresight?: ChargePreview
  /** `input`: the input columns and `error`. Otherwise all columns, with `error` if wanted. */
  output: 'input' | readonly string[]
  /** Further columns of the output of a dry run, where it repeats the input: what each row would do. */
  dryRunColumns?: readonly string[]
  /** The subject of a row, such as a number. Rows of the same key never come in one `run`. */
  key(cells: Cells): string
  /** Maximum number of rows in one commit. */
  rowsAtOnce?: number
  /**
   * Returns the changes and the result of each row, in order. After a conflict it is called again with single rows, so
   * it must have no side effects.
   */
  run(rows: readonly TaskRow<State>[], context: TaskContext): Promise<readonly RowResult<State>[]>
  /** The text in `error` if the commit of a row fails for good. Default: the kind of failure. */
  errorOf?(failure: Failure): string
}

export interface OutputPart {
  rows: readonly OutputRow[]
  failed?: number
  /** Committed with the rows; dropped in a dry run. */
  changes?: readonly ChangeSet[]
  /** Passed to `parts` to continue after this part, maybe in another process. */
  position: string
}

export interface TaskReader {
  actor: Actor
  account: AccountRecord
}

/** An action without input: it writes rows. */
export interface OutputAction extends ActionDefinition {
  input: 'none'
  /** The header. Columns without any value are left out when the output is read. */
  columns: readonly string[]
  /** Columns that a reader of the output must not see. */
  hides?(reader: TaskReader): Promise<readonly string[]>
  /** Name -> description. Taken from the query or from `data`. */
  parameters?: Readonly<Record<string, string>>
  /** Validates and completes the parameters; throws `invalid(...)`. */
  settle?(given: Json, account: AccountRecord): Promise<Json> | Json
  /** The output after a position, or from the start. Parts of some hundred rows. */
  parts(context: TaskContext, position: string | undefined): AsyncIterable<OutputPart>
}

export type TaskAction = InputAction | OutputAction
