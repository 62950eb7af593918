// Tables of fields as tests: each row becomes one.
import { expect, it } from 'vitest'
import type { Json } from '../../../src/lib/json.ts'
import type { Answer } from '../world/client.ts'
import type { World } from '../world/world.ts'

/** A row of a table: what its fields take, and what they refuse. */
export interface FieldRow {
  /** The words of the row: the fields, with dots where they are nested, a colon, and their description. */
  says: string
  /** The object that holds the fields, where it is not the record itself. */
  within?: string
  takes: readonly unknown[]
  /** By the rule that is broken; `0.type` breaks it in the first item of the field. */
  refuses: Readonly<Record<string, readonly unknown[]>>
}

/** A record to write to, and what `data` is for one with these fields. */
interface Target {
  write(fields: Json): Promise<Answer>
  read(): Promise<Answer>
  shows(fields: Json): Json
}

/** The fields of a row. */
export const fieldsOf = ({ says, within }: FieldRow) => {
  const names = says.slice(0, says.indexOf(':')).split(', ')
  return within === undefined ? names : names.map((name) => `${within}.${name}`)
}

/** Rows with the names of their tests in front. */
export const named = (rows: readonly FieldRow[]) =>
  rows.map((row) => [row.within === undefined ? row.says : `${row.says} (in ${row.within})`, row] as const)

/** `a.b` and 1 as `{ a: { b: 1 } }`. */
export const nested = (path: string, value: unknown): Json =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Json

/** The problem of a field that breaks a rule, in the form of a refusal. */
const broken = (field: string, rule: string) => {
  const at = [field, ...rule.split('.')]
  return { [at.slice(0, -1).join('.')]: at.slice(-1) }
}

/** A test for each row: what a field takes is read as it was written; what it refuses changes nothing. */
export const itHoldsRows = (world: World, rows: readonly FieldRow[], { write, read, shows }: Target) =>
  it.each(named(rows))('%s', async (_name, row) => {
    for (const field of fieldsOf(row)) {
      for (const value of row.takes) {
        const fields = nested(field, value)
        expect(await write(fields)).toSucceedWith(shows(fields))
        expect(await read()).toSucceedWith(shows(fields))
      }
      await world.unchanged(async () => {
        for (const [rule, values] of Object.entries(row.refuses))
          for (const value of values) expect(await write(nested(field, value))).toBreak(broken(field, rule))
      })
    }
  })
