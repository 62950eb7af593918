// What a task can do. Other areas write actions against these types (they import them from `../tasks/operations.ts`)
// and contribute them in their `area.ts`; the help, the judgement of input and the running follow from the definition.
import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import type { PlainPolicy } from '../../../auth/policies.ts'
import type { Failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'

/**
 * An input row by column name, with all columns of the header: undefined where nothing stood between the commas,
 * the empty text where `""` stood. Treat both as empty.
 */
export type Cells = Readonly<Record<string, string | undefined>>

/** An output row by column name. Columns that the header does not have are left out. */
export type OutputRow = Readonly<Record<string, unknown>>

export interface TaskRow<State = unknown> {
  /** 1 is the first row behind the header. */
  number: number
  cells: Cells
  /** What `key` said of the cells. No two rows of one `run` have the same. */
  key: string
  /**
   * Only in a dry run: the `state` that the latest earlier row of this key ended with. It stands for what is stored,
   * because nothing was. Undefined when there was no such row: read the store.
   */
  earlier: State | undefined
}

interface Finished<State> {
  /** Rows for the output. */
  output?: readonly OutputRow[]
  /** What the row changes. The engine commits it together with the row's output and progress; in a dry run it drops it. */
  changes?: ChangeSet
  /** What a later row of the same key would find stored. Only asked for in a dry run. */
  state?: State
}

/** How a row ended whose work is done. */
export type RowEnd<State = unknown> =
  | ({ outcome: 'done' } & Finished<State>)
  | ({ outcome: 'failed'; error: string } & Finished<State>)

/**
 * How a row ended.
 *
 * - `done`: without `output` nothing is written (with `columns: 'own'`, give the row). Where the output repeats the
 *   input, the rows of `output` are laid over the input row.
 * - `failed`: without `output` one row is written: the input cells that the output has columns for, and `error`.
 *   Without `changes` nothing happens.
 * - `asks`: somebody outside has to be asked. `changes` are committed first, without the row's output and progress; then
 *   `end` asks, and says how the row ended. After a crash in between the row is judged again: what it says then must
 *   come to the same end. Not in a dry run.
 * - `stop`: the task ends here; the row is not counted.
 */
export type RowResult<State = unknown> =
  | RowEnd<State>
  | { outcome: 'asks'; changes?: ChangeSet; end(): Promise<RowEnd<State>> }
  | { outcome: 'stop' }

/** For whom a task works. Read anew for each batch. */
export interface TaskContext {
  /** Names a row, by its number, for those outside: the same in a task that goes on where this one was stopped. */
  idOfRow(number: number): string
  /** The account that the task belongs to. */
  account: AccountRecord
  /** Who made the task; it runs with their rights. */
  actor: Actor
  /** For `new ChangeSet(author)`. */
  author: Author
  /** Nothing outside of the store may be touched either. */
  dryRun: boolean
  /** Whoever started the task agreed to what its rows cost. */
  acceptsCharges: boolean
  /** What `settle` made of the parameters. */
  parameters: Json
}

/** What one account would pay. Money in dollars. */
export interface PreviewedCharge {
  account_id: string
  name: string
  /** Due at once; negative: given back. */
  today: number
  /** By how much the monthly bill rises; negative: falls. */
  recurring: number
  invoices: readonly unknown[]
}

/** Tells what changes would cost that nobody writes: gathers bit by bit, and prices all of it in the end. */
export interface ChargePreview<Gathered = unknown> {
  /** What was gathered before, and what some more change sets move. Kept as JSON, of a size that rows do not add to. */
  add(gathered: Gathered | undefined, sets: readonly ChangeSet[]): Promise<Gathered>
  priced(gathered: Gathered | undefined): Promise<PreviewedCharge[]>
  /** The price lists of an account. Kept as JSON. */
  terms(accountId: string): Promise<unknown>
}

interface Definition {
  category: string
  action: string
  description: string
  /** Several lines. */
  doc: string
  /** Who may make such a task: others get a 403, and the task ends when its maker loses the right. */
  allow: PlainPolicy
  /** What it acts on belongs to no account: where the operator makes such a task, it is the operator's own account's. */
  ofSystem?: true
  /** Who may read what such a task takes and writes; absent: the members of its account, and those above. */
  readers?: PlainPolicy
}

/** An action that does something for each row of a CSV (or of JSON records). */
export interface InputAction<State = unknown> extends Definition {
  input: 'csv'
  mandatory: readonly string[]
  optional: readonly string[]
  /** Columns whose names begin like this are taken too: `opaque.`. */
  openPrefix?: string
  /** Whether a cell that is not empty is good. Rows with bad ones fail with `bad field(s) X Y` and never get to `run`. */
  verifiers?: Readonly<Record<string, (cell: string) => boolean>>
  /** Where what rows change may cost something: a dry run tells what, and whoever starts such a task may refuse to pay. */
  foresight?: ChargePreview
  /** `input`: the header of the input and `error`. Else the whole header, `error` included if wanted. */
  output: 'input' | readonly string[]
  /** What the row is about, a number say: rows of the same key never come in one `run`. */
  key(cells: Cells): string
  /**
   * The most rows that come at once. All of a batch are committed together.
   */
  rowsAtOnce?: number
  /**
   * Judges rows and says what each changes; one result for each row, in their order. Reads what it needs for all of
   * them at once. After a lost race it is called again with single rows, so it decides nothing by itself.
   */
  run(rows: readonly TaskRow<State>[], context: TaskContext): Promise<readonly RowResult<State>[]>
  /** The text in `error` when the commit of a row fails for good, by `expect` of its change set. Default: the kind. */
  errorOf?(failure: Failure): string
}

/** Some output rows, and where to go on behind them. */
export interface OutputPart {
  rows: readonly OutputRow[]
  /** How many of the rows tell of a failure. */
  failed?: number
  /** Committed together with the rows; dropped in a dry run. */
  changes?: readonly ChangeSet[]
  /** Given to `parts` when the task has to go on behind this part, perhaps in another process. */
  position: string
}

/** Who reads what a task of an account wrote. */
export interface TaskReader {
  actor: Actor
  account: AccountRecord
}

/** An action without input: it writes rows. */
export interface OutputAction extends Definition {
  input: 'none'
  /** The header. Columns that never hold a value are left out when the output is read. */
  columns: readonly string[]
  /** Columns that are left out for a reader of the account's tasks, whoever made them. */
  hides?(reader: TaskReader): Promise<readonly string[]>
  /** Parameters that the action takes from the query or from `data`: name -> description. */
  parameters?: Readonly<Record<string, string>>
  /** Judges and completes the parameters when the task is made; throws `invalid(...)`. */
  settle?(given: Json, account: AccountRecord): Promise<Json> | Json
  /** The output from its beginning, or from behind the part that had this position. Parts of some hundred rows. */
  parts(context: TaskContext, position: string | undefined): AsyncIterable<OutputPart>
}

export type TaskAction = InputAction | OutputAction
