// Runs after all other files of a run on both engines.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import type { Engine } from '../src/storage/db.ts'
import { lineAt, readSource } from './support/source-text.ts'
import { statementsOf } from './support/statement-record.ts'

const root = join(import.meta.dirname, '..')

// The code of one engine, of Citus, and upgrades of stores older than those that tests make.
const ofOneEngine = /^src\/storage\/(?:sqlite|postgres|distribution|upgrades|verification)/

const verb = /^\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\b/

/** The SQL in the sources: where it is, and its text without the expressions that are inserted. */
const literals = globSync('src/**/*.ts', { cwd: root })
  .filter((path) => !ofOneEngine.test(path))
  .flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return readSource(path, text)
      .literals.filter((literal) => verb.test(literal.text))
      .map((literal) => ({ at: `${path}:${lineAt(text, literal.start)}`, parts: literal.text.split('?') }))
  })

const contains = (statement: string, parts: readonly string[]) => {
  let at = 0
  for (const part of parts) {
    const found = statement.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return true
}

const notRunOn = (engine: Engine) => {
  const statements = statementsOf(inject('runFolder'), engine)
  return literals
    .filter(({ parts }) => !statements.some((statement) => contains(statement, parts)))
    .map(({ at }) => at)
}

it.each(['sqlite', 'postgres'] as const)('every SQL statement of the sources ran on %s', (engine) => {
  expect(notRunOn(engine)).toEqual([])
})
