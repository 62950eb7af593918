import { present } from '../../src/lib/json.ts'
import { inParts, pagesOf } from '../../src/lib/list.ts'
import type { ChangeSet } from '../../src/storage/change-set.ts'
import type { Statement, Value } from '../../src/storage/db.ts'
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

const ids = documents.pick('documentId')
const codedFields = findings.pick('code', 'field')
const outcomeCounts = shape({ type: text(), outcome: oneOf(outcomes), count: integer('count(*)') })
const codeCounts = shape({ severity: oneOf(severities), code: text(), count: integer('count(*)') })

export type DatabaseRow = RowOf<typeof databases>
export type DocumentRow = RowOf<typeof documents>

const refusedBegin = 'refused '

/** Marks a document that the store refused. */
export const refusedMark = (mark: string) => refusedBegin + mark

/** The refusal was reported. */
export const isRefused = ({ outcome, mark }: Pick<DocumentRow, 'outcome' | 'mark'>) =>
  outcome === 'rejected' && mark.startsWith(refusedBegin)

/** After a vanished database is back, all of it is read again. No record is removed. */
export const vanishedRow = (row: DatabaseRow): DatabaseRow => ({
  ...row,
  mark: undefined,
  sequence: undefined,
  isWhole: true,
  notes: { ...row.notes, isVanished: true },
})

export const isVanished = ({ notes }: Pick<DatabaseRow, 'notes'>) => notes.isVanished === true

const upsertDatabase = databases.upsert('name')
const upsertDocument = documents.upsert('name', 'documentId')
const insertFinding = findings.insert()
const pageRows = 500

const forgetFindings = (set: ChangeSet, { name, documentId }: Pick<DocumentRow, 'name' | 'documentId'>) =>
  set.run('DELETE FROM kazoo_findings WHERE name = $1 AND document_id = $2', [name, documentId])

export const createRunStore = ({ all, scan }: Pick<Store, 'all' | 'scan'>) => {
  const idsWhere = async (condition: string, params: readonly Value[], limit = '') => {
    const sql = `SELECT ${ids.columns} FROM kazoo_documents WHERE ${condition} ORDER BY document_id ${limit}`
    return ids.list(await scan(sql, params)).map(({ documentId }) => documentId)
  }

  const databasesNamed = async (wanted: readonly string[]): Promise<ReadonlyMap<string, DatabaseRow>> => {
    const found: DatabaseRow[] = []
    for (const some of inParts(wanted, pageRows)) {
      const sql = `SELECT ${databases.columns} FROM kazoo_databases WHERE name IN (${placeholders(some.length)})`
      found.push(...databases.list(await all(sql, some)))
    }
    return new Map(found.map((row) => [row.name, row]))
  }

  return {
    databasesNamed,

    database: async (name: string): Promise<DatabaseRow | undefined> =>
      (await databasesNamed([name])).get(name),

    async *databases(): AsyncGenerator<DatabaseRow> {
      const sql = `SELECT ${databases.columns} FROM kazoo_databases WHERE name > $1 ORDER BY name LIMIT ${pageRows}`
      const pages = pagesOf<DatabaseRow>(pageRows, async (last) =>
        databases.list(await scan(sql, [last?.name ?? ''])),
      )
      for await (const page of pages) yield* page
    },

    putDatabase: (row: DatabaseRow): Statement => upsertDatabase(row),

    async known(name: string, wanted: readonly string[]): Promise<ReadonlyMap<string, DocumentRow>> {
      const found: DocumentRow[] = []
      for (const some of inParts(wanted, pageRows)) {
        const sql = `SELECT ${documents.columns} FROM kazoo_documents
          WHERE name = $1 AND document_id IN (${placeholders(some.length, 2)})`
        found.push(...documents.list(await all(sql, [name, ...some])))
      }
      return new Map(found.map((row) => [row.documentId, row]))
    },

    /** Ids of documents that the store refused. */
    refused: (name: string) =>
      idsWhere(`name = $1 AND outcome = 'rejected' AND mark LIKE $2`, [name, `${refusedBegin}%`]),

    ids: (name: string) =>
      pagesOf<string>(pageRows, (last = '') =>
        idsWhere('name = $1 AND document_id > $2', [name, last], `LIMIT ${pageRows}`),
      ),

    remember(set: ChangeSet, row: DocumentRow, found: readonly Finding[]) {
      set.add(upsertDocument(row))
      forgetFindings(set, row)
      for (const [number, { severity, code, field, old, new: now }] of found.entries()) {
        const place = { name: row.name, documentId: row.documentId, number }
        set.add(insertFinding({ ...place, severity, code, field, old, new: now }))
      }
    },

    forget(set: ChangeSet, row: DocumentRow) {
      forgetFindings(set, row)
      set.run('DELETE FROM kazoo_documents WHERE name = $1 AND document_id = $2', [row.name, row.documentId])
    },

    forgetAll: (): Statement[] =>
      ['kazoo_databases', 'kazoo_documents', 'kazoo_findings', 'kazoo_kept', 'kazoo_before'].map((name) => ({
        sql: `DELETE FROM ${name}`,
        params: [],
      })),

    async outcomes() {
      const sql = `SELECT ${outcomeCounts.columns} FROM kazoo_documents GROUP BY type, outcome ORDER BY type, outcome`
      return outcomeCounts.list(await scan(sql))
    },

    async codes() {
      const sql = `SELECT ${codeCounts.columns} FROM kazoo_findings GROUP BY severity, code ORDER BY severity, code`
      return codeCounts.list(await scan(sql))
    },

    async findingsOf(name: string, documentId: string) {
      const sql = `SELECT ${codedFields.columns} FROM kazoo_findings
        WHERE name = $1 AND document_id = $2 ORDER BY code, number`
      return codedFields.list(await all(sql, [name, documentId]))
    },

    async findings(severity: string, code: string, limit: number) {
      const sql = `SELECT ${findings.columns} FROM kazoo_findings WHERE severity = $1 AND code = $2
        ORDER BY name, document_id, number LIMIT $3`
      return findings
        .list(await scan(sql, [severity, code, limit]))
        .map(({ name: database, documentId: id, number: _, ...said }) =>
          present({ database, id, ...said }),
        ) as Finding[]
    },
  }
}

export type RunStore = ReturnType<typeof createRunStore>
