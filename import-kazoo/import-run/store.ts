import type { ChangeSet } from '../../src/storage/change-set.ts'
import type { Statement } from '../../src/storage/db.ts'
import type { Store } from '../../src/storage/store.ts'
import {
  flag,
  integer,
  json,
  oneOf,
  optional,
  placeholders,
  type RowOf,
  shape,
  table,
  text,
} from '../../src/storage/table.ts'
import { type Finding, outcomes, severities } from '../documents/document.ts'
import { inPages, inParts } from './at-once.ts'

const databases = table('kazoo_databases', {
  name: text(),
  chapter: text(),
  /** Undefined before the first page and after the last. */
  mark: optional(text()),
  /** Undefined if the source cannot be followed. */
  sequence: optional(text()),
  /** Everything that was there at the beginning has been read. */
  isWhole: flag(),
  documents: integer(),
  /** State of the section. */
  notes: json<Readonly<Record<string, unknown>>>(),
})

export type RecordPlace = readonly [as: string, accountId: string, id: string]

const documents = table('kazoo_documents', {
  name: text(),
  documentId: text(),
  type: text(),
  outcome: oneOf(outcomes),
  mark: text(),
  records: json<readonly RecordPlace[]>(),
})

const findings = table('kazoo_findings', {
  name: text(),
  documentId: text(),
  number: integer(),
  severity: oneOf(severities),
  code: text(),
  field: optional(text()),
  old: optional(text()),
  new: optional(text()),
})

const found = shape({
  database: text(),
  id: text(),
  severity: oneOf(severities),
  code: text(),
  field: optional(text()),
  old: optional(text()),
  new: optional(text()),
})

const withoutUndefined = ({ field, old, new: now, ...said }: RowOf<typeof found>): Finding => ({
  ...said,
  ...(field === undefined ? {} : { field }),
  ...(old === undefined ? {} : { old }),
  ...(now === undefined ? {} : { new: now }),
})

export type DatabaseRow = RowOf<typeof databases>

const refusedBegin = 'refused '

/** Marks a document that the store refused. */
export const refusedMark = (mark: string) => refusedBegin + mark

/** After a vanished database is back, all of it is read again. No record is removed. */
export const vanishedRow = (row: DatabaseRow): DatabaseRow => ({
  ...row,
  mark: undefined,
  sequence: undefined,
  isWhole: true,
  notes: { ...row.notes, isVanished: true },
})

export const isVanished = ({ notes }: Pick<DatabaseRow, 'notes'>) => notes.isVanished === true
export type DocumentRow = RowOf<typeof documents>

/** The refusal was reported. */
export const isRefused = ({ outcome, mark }: Pick<DocumentRow, 'outcome' | 'mark'>) =>
  outcome === 'rejected' && mark.startsWith(refusedBegin)

const upsertDatabase = databases.upsert('name')
const upsertDocument = documents.upsert('name', 'documentId')
const insertFinding = findings.insert()
const names = shape({ documentId: text() })
const outcomeCounts = shape({ type: text(), outcome: oneOf(outcomes), count: integer() })
const coded = shape({ code: text(), field: optional(text()) })
const fielded = shape({ field: text() })
const codes = shape({ severity: oneOf(severities), code: text(), count: integer() })

const atOnce = 500

export const createRunStore = ({ all, scan }: Store) => ({
  async database(name: string): Promise<DatabaseRow | undefined> {
    return databases.first(
      await all(`SELECT ${databases.columns} FROM kazoo_databases WHERE name = $1`, [name]),
    )
  },

  async databasesNamed(wanted: readonly string[]): Promise<ReadonlyMap<string, DatabaseRow>> {
    const found = new Map<string, DatabaseRow>()
    for (const some of inParts(wanted)) {
      const rows = await all(
        `SELECT ${databases.columns} FROM kazoo_databases WHERE name IN (${placeholders(some.length)})`,
        some,
      )
      for (const row of databases.list(rows)) found.set(row.name, row)
    }
    return found
  },

  async *databases(): AsyncGenerator<DatabaseRow> {
    const sql = `SELECT ${databases.columns} FROM kazoo_databases WHERE name > $1 ORDER BY name LIMIT ${atOnce}`
    const read = async (after: string) => databases.list(await scan(sql, [after]))
    for await (const page of inPages(atOnce, read, ({ name }) => name)) yield* page
  },

  putDatabase: (row: DatabaseRow): Statement => upsertDatabase(row),

  async known(name: string, ids: readonly string[]): Promise<ReadonlyMap<string, DocumentRow>> {
    const known = new Map<string, DocumentRow>()
    for (const some of inParts(ids)) {
      const rows = await all(
        `SELECT ${documents.columns} FROM kazoo_documents
          WHERE name = $1 AND document_id IN (${placeholders(some.length, 2)})`,
        [name, ...some],
      )
      for (const row of documents.list(rows)) known.set(row.documentId, row)
    }
    return known
  },

  /** Ids of documents that the store refused. */
  refused: async (name: string): Promise<string[]> =>
    names
      .list(
        await all(
          `SELECT document_id AS "documentId" FROM kazoo_documents
            WHERE name = $1 AND outcome = 'rejected' AND mark LIKE $2 ORDER BY document_id`,
          [name, `${refusedBegin}%`],
        ),
      )
      .map(({ documentId }) => documentId),

  ids(name: string): AsyncGenerator<readonly string[]> {
    const sql = `SELECT document_id AS "documentId" FROM kazoo_documents
      WHERE name = $1 AND document_id > $2 ORDER BY document_id LIMIT ${atOnce}`
    const read = async (after: string) =>
      names.list(await scan(sql, [name, after])).map(({ documentId }) => documentId)
    return inPages(atOnce, read, (id) => id)
  },

  remember(set: ChangeSet, row: DocumentRow, found: readonly Finding[]) {
    set.add(upsertDocument(row))
    this.forgetFindings(set, row)
    for (const [number, finding] of found.entries()) {
      const { severity, code, field, old, new: now } = finding
      const place = { name: row.name, documentId: row.documentId, number }
      set.add(insertFinding({ ...place, severity, code, field, old, new: now }))
    }
  },

  forgetFindings: (set: ChangeSet, { name, documentId }: Pick<DocumentRow, 'name' | 'documentId'>) =>
    set.run('DELETE FROM kazoo_findings WHERE name = $1 AND document_id = $2', [name, documentId]),

  forget(set: ChangeSet, row: DocumentRow) {
    this.forgetFindings(set, row)
    set.run('DELETE FROM kazoo_documents WHERE name = $1 AND document_id = $2', [row.name, row.documentId])
  },

  forgetAll: (): Statement[] =>
    ['kazoo_databases', 'kazoo_documents', 'kazoo_findings', 'kazoo_kept', 'kazoo_before'].map((name) => ({
      sql: `DELETE FROM ${name}`,
      params: [],
    })),

  outcomes: async () =>
    outcomeCounts.list(
      await scan(
        'SELECT type, outcome, count(*) AS count FROM kazoo_documents GROUP BY type, outcome ORDER BY type, outcome',
      ),
    ),

  codes: async () =>
    codes.list(
      await scan(
        'SELECT severity, code, count(*) AS count FROM kazoo_findings GROUP BY severity, code ORDER BY severity, code',
      ),
    ),

  findingsOf: async (name: string, documentId: string) =>
    coded.list(
      await all(
        'SELECT code, field FROM kazoo_findings WHERE name = $1 AND document_id = $2 ORDER BY code, number',
        [name, documentId],
      ),
    ),

  fieldsOf: async (name: string, documentId: string, code: string): Promise<string[]> =>
    fielded
      .list(
        await all(
          `SELECT field FROM kazoo_findings
            WHERE name = $1 AND document_id = $2 AND code = $3 AND field IS NOT NULL`,
          [name, documentId, code],
        ),
      )
      .map(({ field }) => field),

  findings: async (severity: string, code: string, limit: number): Promise<Finding[]> =>
    found
      .list(
        await scan(
          `SELECT name AS database, document_id AS id, severity, code, field, old, new FROM kazoo_findings WHERE severity = $1 AND code = $2
          ORDER BY name, document_id, number LIMIT $3`,
          [severity, code, limit],
        ),
      )
      .map(withoutUndefined),
})

export type RunStore = ReturnType<typeof createRunStore>
