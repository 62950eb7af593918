import { Type } from 'typebox'
import type { ImportedFile, Importer } from '../../src/areas/adoption.ts'
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

interface PreservedFile {
  name: string
  contentType: string
  bytes: Buffer
}

export interface PreservedDocument extends PreservedPlace, PreservedFacts {
  files: readonly PreservedFile[]
}

const upsert = rows.upsert('accountId', 'database', 'id', 'name')
const revisions = shape({ revision: text() })
const sealedKind = 'kazoo_kept'

// Unread documents may have secrets anywhere: all content is sealed.
const Sealed = Type.Object({ content: Type.String(secret) })

/** Stores documents that nothing reads, and some of their files, sealed. */
export const createPreservedDocuments = ({ all, scan, sealing }: Store) => {
  sealing.declare(sealedKind, () => Sealed)

  const placeOf = (place: PreservedPlace) => ({
    accountId: place.accountId,
    kind: sealedKind,
    id: preservedName(place),
  })

  const shut = (place: PreservedPlace, content: string, more = {}) =>
    sealing.shut(placeOf(place), JSON.stringify({ ...more, content }))

  const opened = (row: Row): { content: string; content_type: string } =>
    JSON.parse(sealing.open(placeOf(row), row.doc))

  const fileOf = (row: Row): PreservedFile => {
    const { content, content_type: contentType } = opened(row)
    return { name: row.name, contentType, bytes: Buffer.from(content, 'base64') }
  }

  const forgetRows = (set: ChangeSet, { accountId, database, id }: PreservedPlace) =>
    set.run('DELETE FROM kazoo_kept WHERE account_id = $1 AND source = $2 AND id = $3', [
      accountId,
      database,
      id,
    ])

  const revisionOf = async ({ accountId, database, id }: PreservedPlace) =>
    revisions.first(
      await all(
        `SELECT ${revisions.columns} FROM kazoo_kept
          WHERE account_id = $1 AND source = $2 AND id = $3 AND name = ''`,
        [accountId, database, id],
      ),
    )?.revision

  const told = (place: PreservedPlace, action: 'created' | 'edited' | 'deleted') => ({
    accountId: place.accountId,
    kind: 'kazoo_document',
    id: place.id,
    action,
  })

  const fileRow = (
    place: PreservedPlace,
    common: Pick<Row, 'type' | 'revision'>,
    file: ImportedFile,
  ): Row => {
    const { role: name, contentType, bytes } = file
    const doc = shut(place, bytes.toString('base64'), { content_type: contentType })
    return { ...place, ...common, name, bytes: bytes.length, doc }
  }

  /** False if it is stored already. */
  const keep = async (
    set: ChangeSet,
    place: PreservedPlace,
    {
      type,
      text: content,
      revision,
      files,
    }: PreservedFacts & { revision: string; files: readonly ImportedFile[] },
  ): Promise<boolean> => {
    const before = await revisionOf(place)
    if (before === revision) return false
    if (before !== undefined) forgetRows(set, place)
    const common = { type, revision }
    const bytes = Buffer.byteLength(content)
    set.add(upsert({ ...place, ...common, name: '', bytes, doc: shut(place, content) }))
    for (const file of files) set.add(upsert(fileRow(place, common, file)))
    const action = before === undefined ? 'created' : 'edited'
    const after = JSON.stringify({ type, bytes })
    set.record({ ...told(place, action), ...(before === undefined ? {} : { before: '{}' }), after })
    return true
  }

  const forget = async (set: ChangeSet, place: PreservedPlace): Promise<boolean> => {
    if ((await revisionOf(place)) === undefined) return false
    forgetRows(set, place)
    set.record(told(place, 'deleted'))
    return true
  }

  return {
    keep,
    forget,

    /** The id of a record is its `keptName`, the role of a file its name. */
    adoption: {
      put: (set, { accountId, id, revision, facts, files }) =>
        keep(set, preservedPlace(accountId, id), {
          ...(facts as unknown as PreservedFacts),
          revision,
          files,
        }),
      async files({ accountId, id }) {
        const files = await filesOf(preservedPlace(accountId, id))
        return new Map(files.map(({ name, bytes }) => [name, bytes]))
      },
      remove: (set, { accountId, id }) => forget(set, preservedPlace(accountId, id)),
    } satisfies Importer,

    /** Pages of preserved documents, by account. */
    async *pages(limit: number): AsyncGenerator<PreservedDocument[]> {
      let after: readonly string[] = ['', '', '']
      for (;;) {
        const heads = rows.list(
          await scan(
            `SELECT ${rows.columns} FROM kazoo_kept WHERE name = '' AND (account_id, source, id) > ($1, $2, $3)
              ORDER BY account_id, source, id LIMIT ${limit}`,
            after,
          ),
        )
        const last = heads.at(-1)
        if (!last) return
        yield await Promise.all(heads.map(withFiles))
        if (heads.length < limit) return
        after = [last.accountId, last.database, last.id]
      }
    },
  }

  async function filesOf({ accountId, database, id }: PreservedPlace): Promise<PreservedFile[]> {
    const files = rows.list(
      await scan(
        `SELECT ${rows.columns} FROM kazoo_kept
          WHERE account_id = $1 AND source = $2 AND id = $3 AND name <> '' ORDER BY name`,
        [accountId, database, id],
      ),
    )
    return files.map(fileOf)
  }

  async function withFiles(row: Row): Promise<PreservedDocument> {
    const { accountId, database, id, type } = row
    const files = await filesOf(row)
    return { accountId, database, id, type, text: opened(row).content, files }
  }
}

export type PreservedDocuments = ReturnType<typeof createPreservedDocuments>
