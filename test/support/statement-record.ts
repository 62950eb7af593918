// Notes which SQL statements a run sends to which engine, for `test/statements.test.ts`.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { appendSql, type Database, type Engine } from '../../src/storage/db.ts'

const seen: Record<Engine, Set<string>> = { sqlite: new Set(), postgres: new Set() }

const fileOf = (folder: string, engine: Engine) => join(folder, `${engine}-${process.pid}.jsonl`)

const note = (engine: Engine, sql: string) => {
  if (seen[engine].has(sql)) return
  seen[engine].add(sql)
  appendFileSync(fileOf(inject('runFolder'), engine), `${JSON.stringify(sql)}\n`)
}

/** The same database; the run notes each statement that goes to it. */
export const noting = (db: Database): Database => {
  const { engine } = db
  const noted = <A extends unknown[], R>(run: (sql: string, ...rest: A) => R) => {
    return (sql: string, ...rest: A) => {
      note(engine, sql)
      return run(sql, ...rest)
    }
  }
  return {
    ...db,
    all: noted(db.all) as Database['all'],
    scan: noted(db.scan) as Database['scan'],
    scanForLines: noted(db.scanForLines) as Database['scanForLines'],
    csvLines(query) {
      note(engine, query.tail)
      return db.csvLines(query)
    },
    write(write) {
      for (const { sql } of write.statements) note(engine, sql)
      for (const { table } of write.appends ?? []) note(engine, appendSql(table))
      return db.write(write)
    },
    exclusively: (work) => db.exclusively((run) => work(noted(run))),
  }
}

/** The statements that this run has sent to an engine so far. */
export const statementsOf = (folder: string, engine: Engine) =>
  readdirSync(folder)
    .filter((name) => name.startsWith(engine))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as string)
