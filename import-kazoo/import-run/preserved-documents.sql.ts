import { Type } from 'typebox'
import type { Importer } from '../../src/areas/adoption.ts'
import { pagesOf } from '../../src/lib/list.ts'
import { secret } from '../../src/lib/secrets.ts'
import type { ChangeSet } from '../../src/storage/change-set.ts'
import type { Store } from '../../src/storage/store.ts'
import { integer, type RowOf, shape, table, text } from '../../src/storage/table.ts'
import {
  type PreservedFacts,
  type PreservedPlace,
  preservedName,
  preservedPlace,
} from '../conversions/preserved.rules.ts'
import type { ExportedFile } from '../export/document.ts'

const rows = table('kazoo_kept', {
  accountId: text(),
  database: text('source'),
  id: text(),
  /** Empty for the document itself, else the name of a file. */
  name: text(),
  type: text(),
  revision: text(),
  bytes: integer(),
  doc: text(),
})

type Row = RowOf<typeof rows>

export interface PreservedDocument extends PreservedPlace, PreservedFacts {
  files: readonly ExportedFile[]
}

const upsert = rows.upsert('accountId', 'database', 'id', 'name')
const revisions = shape({ revision: text() })
const sealedKind = 'kazoo_kept'

// Unread documents may have secrets anywhere: all content is sealed.
const Sealed = Type.Object({ content: Type.String(secret) })

const keyOf = ({ accountId, database, id }: PreservedPlace) => [accountId, database, id]

const ofDocument = 'account_id = $1 AND source = $2 AND id = $3'

const sealedPlace = (place: PreservedPlace) => ({
  accountId: place.accountId,
  kind: sealedKind,
  id: preservedName(place),
})

const createReading = ({ scan, sealing }: Store) => {
  const opened = (row: Row): { content: string; content_type: string } =>
    JSON.parse(sealing.open(sealedPlace(row), row.doc))

  const filesOf = async (place: PreservedPlace): Promise<ExportedFile[]> => {
    const sql = `SELECT ${rows.columns} FROM kazoo_kept WHERE ${ofDocument} AND name <> '' ORDER BY name`
    return rows.list(await scan(sql, keyOf(place))).map((row) => {
      const { content, content_type: contentType } = opened(row)
      return { name: row.name, contentType, bytes: Buffer.from(content, 'base64') }
    })
  }

  const withFiles = async (row: Row): Promise<PreservedDocument> => {
    const { accountId, database, id, type } = row
    return { accountId, database, id, type, text: opened(row).content, files: await filesOf(row) }
  }

  return {
    filesOf,

    /** Pages of preserved documents, by account. */
    async *pages(limit: number): AsyncGenerator<PreservedDocument[]> {
      const sql = `SELECT ${rows.columns} FROM kazoo_kept WHERE name = '' AND (account_id, source, id) > ($1, $2, $3)
        ORDER BY account_id, source, id LIMIT ${limit}`
      const heads = pagesOf<Row>(limit, async (last) =>
        rows.list(await scan(sql, last ? keyOf(last) : ['', '', ''])),
      )
      for await (const some of heads) yield await Promise.all(some.map(withFiles))
    },
  }
}

/** Stores documents that nothing reads, and some of their files, sealed. */
export const createPreservedDocuments = (store: Store) => {
  const { all, sealing } = store
  sealing.declare(sealedKind, () => Sealed)
  const { filesOf, pages } = createReading(store)

  const shut = (place: PreservedPlace, content: string, more = {}) =>
    sealing.shut(sealedPlace(place), JSON.stringify({ ...more, content }))

  const forgetRows = (set: ChangeSet, place: PreservedPlace) =>
    set.run(`DELETE FROM kazoo_kept WHERE ${ofDocument}`, keyOf(place))

  const revisionOf = async (place: PreservedPlace) => {
    const sql = `SELECT ${revisions.columns} FROM kazoo_kept WHERE ${ofDocument} AND name = ''`
    return revisions.first(await all(sql, keyOf(place)))?.revision
  }

  const changeOf = ({ accountId, id }: PreservedPlace, action: 'created' | 'edited' | 'deleted') => ({
    ...{ accountId, kind: 'kazoo_document', id, action },
  })

  return {
    pages,

    /** The id of a record is its `preservedName`, the role of a file its name. */
    adoption: {
      async put(set, { accountId, id, revision, facts, files }) {
        const place = preservedPlace(accountId, id)
        const { type, text: content } = facts as unknown as PreservedFacts
        const before = await revisionOf(place)
        if (before === revision) return false
        if (before !== undefined) forgetRows(set, place)
        const common = { ...place, type, revision }
        const bytes = Buffer.byteLength(content)
        set.add(upsert({ ...common, name: '', bytes, doc: shut(place, content) }))
        for (const { role: name, contentType, bytes: file } of files) {
          const doc = shut(place, file.toString('base64'), { content_type: contentType })
          set.add(upsert({ ...common, name, bytes: file.length, doc }))
        }
        const after = JSON.stringify({ type, bytes })
        if (before === undefined) set.record({ ...changeOf(place, 'created'), after })
        else set.record({ ...changeOf(place, 'edited'), before: '{}', after })
        return true
      },

      async files({ accountId, id }) {
        const files = await filesOf(preservedPlace(accountId, id))
        return new Map(files.map(({ name, bytes }) => [name, bytes]))
      },

      async remove(set, { accountId, id }) {
        const place = preservedPlace(accountId, id)
        if ((await revisionOf(place)) === undefined) return false
        forgetRows(set, place)
        set.record(changeOf(place, 'deleted'))
        return true
      },
    } satisfies Importer,
  }
}

export type PreservedDocuments = ReturnType<typeof createPreservedDocuments>
