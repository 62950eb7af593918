// Runs after all other files of a whole run on both engines. Knows statements by the verb that a text in the sources begins with.
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import type { Engine } from '../src/storage/db.ts'
import { lineAt, readSource } from './support/matchers/source-text.ts'

const root = join(import.meta.dirname, '..')

// The code of one engine, of Citus and of moves between engines, and the schema with its upgrades: tests copy a finished store.
const ofOneEngine =
  /^src\/(?:storage\/(?:sqlite|postgres|distribution|moving|schema|upgrades)|commands\/verification\/store)/

const verb = /^\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\b/

/** A comment in the first line of a file, or just above a statement. */
const onlyOne = /\/\/ (SQLite|PostgreSQL) only\b/
const linesAbove = 6
const declaration = /^(?:export )?const (\w+)/gm

const engineOfName = (name: string): Engine | undefined =>
  name.startsWith('sqlite') ? 'sqlite' : name.startsWith('postgres') ? 'postgres' : undefined

/** The only engine that runs what is there, as a comment says, or the name of the declaration around it. */
const engineOf = (text: string, at: number): Engine | undefined => {
  const before = text.slice(0, at)
  const lines = before.split('\n')
  const comment = [lines[0], ...lines.slice(-linesAbove)].join('\n').match(onlyOne)
  const names = [...before.matchAll(declaration)]
  return engineOfName(comment?.[1]?.toLowerCase() ?? names.at(-1)?.[1] ?? '')
}

/** The SQL in the sources: where it is, and its text between the expressions that are inserted. */
const literals = globSync('src/**/*.ts', { cwd: root })
  .filter((path) => !ofOneEngine.test(path))
  .flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return readSource(path, text)
      .literals.filter((literal) => verb.test(literal.text))
      .map((literal) => ({
        at: `${path}:${lineAt(text, literal.start)}`,
        parts: literal.text.split('?'),
        only: engineOf(text, literal.start),
      }))
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

const statementsOf = (folder: string, engine: Engine) => {
  const lines = readdirSync(folder)
    .filter((name) => name.startsWith(engine))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
  return [...new Set(lines)].map((line) => JSON.parse(line) as string)
}

it.each(['sqlite', 'postgres'] as const)(
  'every SQL statement of the sources ran on %s, except what the sources name as the other engine’s',
  (engine) => {
    const statements = statementsOf(inject('statementFolder'), engine)
    const notRun = literals
      .filter(({ only = engine }) => only === engine)
      .filter(({ parts }) => !statements.some((statement) => contains(statement, parts)))
    expect(notRun.map(({ at }) => at)).toEqual([])
  },
)
