import type { Statement } from './db.ts'
import type { Store } from './store.ts'
import { shape, text } from './table.ts'

// Documents that were stored before secrets were sealed. The server's key is no matter of SQL, so the upgrade only notes
// that they have to be looked through; whoever starts does it, from where the last one got to.

const place = { accountId: text(), kind: text(), id: text() }
const walks = shape(place)
const documents = shape({ ...place, revision: text(), docText: text('doc') })

const atOnce = 500

const nextDocuments = `SELECT ${documents.columns} FROM records
  WHERE (account_id, kind, id) > ($1, $2, $3) ORDER BY account_id, kind, id LIMIT ${atOnce}`
// Whoever has changed the document meanwhile has sealed it.
const sealOne = `UPDATE records SET doc = $5
  WHERE account_id = $1 AND kind = $2 AND id = $3 AND revision = $4 AND doc = $6`
const moveOn = `UPDATE sealing_walk SET account_id = $4, kind = $5, id = $6
  WHERE account_id = $1 AND kind = $2 AND id = $3`
const finish = 'DELETE FROM sealing_walk'

/**
 * Seals what lies in the store in clear. A step seals a batch and notes its end in one transaction: a start that is cut
 * off is gone on with by the next one, and several at once do each other's work again at worst.
 */
export const sealOlder = async (store: Pick<Store, 'all' | 'scan' | 'sealing' | 'writeUnrecorded'>) => {
  const { sealing } = store

  const sealed = (found: ReturnType<typeof documents.list>[number]): Statement[] => {
    const { accountId, kind, id, revision, docText } = found
    if (sealing.isShut(found, docText)) return []
    const shut = sealing.shut(found, sealing.open(found, docText))
    return [{ sql: sealOne, params: [accountId, kind, id, revision, shut, docText] }]
  }

  for (;;) {
    const walk = walks.first(await store.all(`SELECT ${walks.columns} FROM sealing_walk`))
    if (!walk) return
    const from = [walk.accountId, walk.kind, walk.id]
    const found = documents.list(await store.scan(nextDocuments, from))
    const last = found.at(-1)
    const isDone = !last || found.length < atOnce
    const note = isDone
      ? { sql: finish, params: [] }
      : { sql: moveOn, params: [...from, last.accountId, last.kind, last.id] }
    await store.writeUnrecorded([...found.flatMap(sealed), note])
  }
}
