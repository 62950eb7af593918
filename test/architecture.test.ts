import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findViolations } from './support/matchers/architecture.ts'

const root = join(import.meta.dirname, '..')

const sourcesOnDisk = () => {
  const paths = globSync('{src,bin,cli,demo,console,client,import-kazoo}/**/*.{ts,js,mjs}', {
    cwd: root,
  }).sort()
  const own = paths.filter((path) => !/\.test\.ts$|(?:^|\/)(?:node_modules|dist|generated)\//.test(path))
  return Object.fromEntries(own.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

describe('the sources of Crosspoint', () => {
  it('contain no import, query or call in a place where it must not be', () => {
    const sources = sourcesOnDisk()
    expect(Object.keys(sources)).toEqual(expect.arrayContaining(['src/lib/clock.ts', 'import-kazoo/area.ts']))
    expect(findViolations(sources)).toEqual([])
  })
})

const breaches: [path: string, text: string, says: string][] = [
  ['src/areas/voice/a/rules.ts', "import { rows } from './store.ts'", 'rule 1'],
  ['src/areas/voice/a/rules.ts', "import type { Context } from '../../../http/route.ts'", 'rule 1'],
  ['src/areas/voice/a/schema.ts', "import { readFile } from 'node:fs/promises'", 'rule 1'],
  ['src/areas/voice/a/rules.ts', "import { systemClock } from '../../../lib/clock.ts'", 'rule 1'],
  ['src/areas/voice/a/rules.ts', "import { isId, newId } from '../../../lib/ids.ts'", 'rule 1'],
  ['src/lib/csv.ts', "import { open } from 'fs'", 'rule 1'],
  ['src/lib/cidr.ts', "import { isIPv4, connect } from 'node:net'", 'rule 1'],
  ['src/lib/csv.ts', "import type { Db } from '../storage/db.ts'", 'rule 1'],
  ['src/areas/voice/a/operations.ts', "import { reply } from '../../../http/envelope.ts'", 'rule 2'],
  ['src/areas/voice/a/operations.ts', "const rows = db.all('SELECT id FROM records')", 'rules 2 and 3'],
  ['src/areas/voice/a/rules.ts', "const text = 'delete from records'", 'rules 2 and 3'],
  ['src/auth/tokens.ts', 'const text = `UPDATE $' + '{table} SET doc = ?`', 'rules 2 and 3'],
  ['src/http/store.ts', "const text = 'delete from records'", 'rules 2 and 3'],
  ['src/jobs/worker.ts', 'sql`INSERT INTO jobs VALUES ($' + '{id})`', 'rules 2 and 3'],
  ['bin/crosspoint.ts', "import { DatabaseSync } from 'node:sqlite'", 'rule 3'],
  ['src/areas/voice/a/store.ts', "import pg from 'pg'", 'rule 3'],
  ['src/compose.ts', "import { createServer } from 'node:http'", 'rule 3'],
  ['src/areas/voice/a/operations.ts', "import { createB } from '../b/operations.ts'", 'rule 4'],
  ['src/areas/voice/a/store.ts', "import type { BStore } from '../b/store.ts'", 'rule 4'],
  ['src/areas/voice/a/plans/routes.ts', "export * from '../../b/routes.ts'", 'rule 4'],
  ['src/areas/voice/a/operations.ts', "import { asked } from '../b/questions.ts'", 'rule 4'],
  ['src/areas/voice/a/operations.ts', "const b = await import('../b/operations.ts')", 'rule 4'],
  ['src/areas/voice/a/operations.ts', "import { areas } from '../../index.ts'", 'rule 4'],
  [
    'src/http/pipeline.ts',
    "import type { Accounts } from '../areas/accounts/accounts/operations.ts'",
    'rule 5',
  ],
  ['src/storage/db.ts', "import '../areas/index.ts'", 'rule 5'],
  ['src/config/config.ts', 'const home = process.env.HOME', 'rule 6'],
  ['src/config/config.ts', "const home = process['env']", 'rule 6'],
  ['bin/crosspoint.ts', "import { env } from 'node:process'", 'rule 6'],
  ['src/jobs/worker.ts', 'const started = Date.now()', 'rule 6'],
  ['src/jobs/worker.ts', 'const started = new Date()', 'rule 6'],
  ['src/jobs/worker.ts', 'const started = new Date', 'rule 6'],
  ['src/jobs/worker.ts', 'const text = `at $' + '{Date.now()}`', 'rule 6'],
  ['src/auth/tokens.ts', 'const id = crypto.randomUUID()', 'rule 6'],
  ['src/auth/tokens.ts', 'const delay = Math.random() * 100', 'rule 6'],
  ['src/areas/index.ts', "import { kazooArea } from '../../import-kazoo/area.ts'", 'only commands'],
  ['src/compose.ts', "import { fillWithDemo } from '../demo/fill.ts'", 'only commands'],
  ['cli/cdrs.ts', "import { startServer } from '../src/compose.ts'", 'cli/ is a client'],
  ['cli/cdrs.ts', 'const started = Date.now()', 'rule 6'],
  ['console/app.ts', "import { csv } from '../src/lib/csv.ts'", 'rule 7'],
  ['client/src/csv.ts', "import { csv } from '../../src/lib/csv.ts'", 'rule 7'],
  ['client/src/csv.ts', "import { open } from 'node:fs'", 'nothing of Node'],
  ['client/src/events.ts', "import type { Event } from './generated/types.gen.ts'", 'nothing generated'],
  ['client/src/core.ts', "export * from './typed.ts'", 'nothing generated'],
  ['src/http/pipeline.ts', "console.log('here')", 'only bin/'],
  ['import-kazoo/report/report.ts', "console.log('here')", 'only bin/'],
  ['import-kazoo/report/report.ts', 'const started = Date.now()', 'rule 6'],
  ['import-kazoo/report/report.ts', "const rows = db.all('SELECT id FROM records')", 'rules 2 and 3'],
  ['import-kazoo/plans/rules.ts', "import { rows } from '../import-run/store.ts'", 'rule 1'],
  ['import-kazoo/area.ts', "import { createB } from '../src/areas/voice/b/operations.ts'", 'rule 4'],
]

const allowed: [path: string, text: string][] = [
  ['src/areas/voice/a/rules.ts', "import type { Clock } from '../../../lib/clock.ts'"],
  [
    'src/areas/voice/a/schema.ts',
    "import { isId } from '../../../lib/ids.ts'\nimport { Type } from 'typebox'",
  ],
  ['src/areas/voice/a/store.ts', 'sql`SELECT id FROM records`'],
  ['src/areas/voice/a/plans/store.ts', 'sql`SELECT id FROM records`'],
  ['src/jobs/store.ts', 'sql`SELECT id FROM work`'],
  ['src/mail/store.ts', 'sql`DELETE FROM mail_attempts`'],
  ['src/storage/sqlite.ts', "import { DatabaseSync } from 'node:sqlite'\ndb.exec('DELETE FROM records')"],
  ['src/areas/voice/a/operations.ts', "import type { B } from '../b/operations.ts'"],
  ['src/areas/voice/a/operations.ts', "import { type B } from '../b/operations.ts'"],
  ['src/areas/voice/a/operations.ts', "import type { Asked } from '../b/questions.ts'"],
  ['src/areas/voice/a/plans/operations.ts', "import { price } from '../rules.ts'"],
  ['src/areas/voice/a/operations.ts', "import { createB } from '../b/area.ts'"],
  ['src/areas/voice/a/schema.ts', "import { Limits } from '../b/schema.ts'"],
  ['src/areas/voice/a/rules.ts', "import { price } from '../b/plans/rules.ts'"],
  ['src/areas/voice/a/operations.ts', "import { accountLeaves } from '../b/signals.ts'"],
  ['src/areas/index.ts', "import { aRoutes } from './a/routes.ts'"],
  ['src/compose.ts', "import { areas } from './areas/index.ts'"],
  ['src/commands/openapi.ts', "import { areas } from '../areas/index.ts'"],
  ['src/config/env.ts', 'export const environment = () => process.env'],
  ['src/lib/cidr.ts', "import { isIPv4, isIPv6 } from 'node:net'"],
  ['src/lib/clock.ts', 'export const now = () => Date.now()'],
  ['src/lib/ids.ts', "import { randomBytes } from 'node:crypto'"],
  ['src/jobs/worker.ts', 'const due = new Date(job.dueMs)'],
  [
    'src/areas/voice/a/rules.ts',
    "// never Date.now()\nconst says = 'Select a file from the list; process.env'",
  ],
  ['src/areas/voice/a/rules.ts', 'const quoted = /["`]/.test(text) // Math.random()'],
  ['src/areas/voice/a/rules.ts', 'const half = total / 2 // node:fs\nconst third = total / 3'],
  ['import-kazoo/import-run/store.ts', 'sql`SELECT id FROM kazoo_runs`'],
  ['import-kazoo/area.ts', "import { bArea } from '../src/areas/voice/b/area.ts'"],
  ['import-kazoo/commands/local.ts', "import { areas } from '../../src/areas/index.ts'"],
  ['src/commands/kazoo-commands.ts', "await import('../../import-kazoo/commands/local.ts')"],
  ['src/commands/program.ts', "import { addCdrs } from '../../cli/cdrs.ts'"],
  ['cli/cdrs.ts', "import { status } from '../src/commands/statuses.ts'"],
  ['bin/crosspoint.ts', "console.log('Crosspoint is ready')"],
  ['console/app.ts', "import { table } from './table.ts'\nconsole.log(new Date())"],
]

describe('the check of the architecture', () => {
  it.each(breaches)('reports %s: %s', (path, text, says) => {
    const violations = findViolations({ [path]: `\n\n${text}\n` })
    expect(violations).toEqual([expect.stringContaining(`${path}:3: `)])
    expect(violations[0]).toContain(says)
  })

  it.each(allowed)('accepts %s: %s', (path, text) => {
    expect(findViolations({ [path]: text })).toEqual([])
  })

  it('finds areas that import each other in a circle', () => {
    const circle = findViolations({
      'src/areas/voice/a/operations.ts': "import type { B } from '../b/operations.ts'",
      'src/areas/voice/b/operations.ts': "\nimport type { C } from '../c/operations.ts'",
      'src/areas/voice/c/store.ts': "import type { A } from '../a/operations.ts'",
      'src/areas/voice/d/store.ts': "import type { A } from '../a/operations.ts'",
    })
    expect(circle).toEqual([
      expect.stringMatching(/^src\/areas\/voice\/a\/operations.ts:1: .*circle.*a -> b$/),
      expect.stringMatching(/^src\/areas\/voice\/b\/operations.ts:2: .*circle.*b -> c$/),
      expect.stringMatching(/^src\/areas\/voice\/c\/store.ts:1: .*circle.*c -> a$/),
    ])
  })

  it('finds files that import each other, also if one imports only a type', () => {
    const circle = findViolations({
      'src/mail/a.ts': "import type { B } from './b.ts'",
      'src/mail/b.ts': "import { c } from './c.ts'",
      'src/mail/c.ts': "import type { A } from './a.ts'",
      'src/mail/d.ts': "import type { A } from './a.ts'",
    })
    expect(circle).toEqual(
      ['a', 'b', 'c'].map(
        (name) => `src/mail/${name}.ts:1: files do not import each other in a circle, not even types`,
      ),
    )
  })

  it('names the first line of an import of several lines', () => {
    const text = "import { Type } from 'typebox'\n\nimport {\n  one,\n  two,\n} from '../b/store.ts'\n"
    const [violation] = findViolations({ 'src/areas/voice/a/routes.ts': text })
    expect(violation).toMatch(
      /^src\/areas\/voice\/a\/routes\.ts:3: .*rule 4\): src\/areas\/voice\/b\/store\.ts$/,
    )
  })
})
