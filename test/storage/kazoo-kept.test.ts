// Documents of a Kazoo that nothing here reads belong to one account each.
import { expect, it } from 'vitest'
import { preservedName } from '../../import-kazoo/conversions/preserved.rules.ts'
import { createPreservedDocuments } from '../../import-kazoo/import-run/preserved-documents.sql.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createTestClock } from '../support/run/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { openNotes } from '../support/world/notes.ts'

describeEngines('kept documents of Kazoo', (engine) => {
  const place = sharedBySuite(
    async () => {
      const { db, close } = await openTestDatabase(engine)
      const { store } = openNotes(db, createTestClock())
      return { store, keeping: createPreservedDocuments(store), close }
    },
    ({ close }) => close(),
  )

  it('stay if a document with the same database and id is forgotten in another account', async () => {
    const { store, keeping } = place
    const document = { database: 'shared', id: 'one' }
    const facts = { type: 'menu', text: '{}' }
    const record = { revision: '1-a', created: 0, modified: 0, doc: {}, facts, files: [] }
    const id = preservedName(document)
    const change = async (act: (set: ChangeSet) => Promise<unknown>) => {
      const set = new ChangeSet({ requestId: 'test' })
      await act(set)
      await store.commit(set)
    }
    for (const accountId of ['a', 'b'])
      await change((set) => keeping.adoption.put(set, { accountId, id, ...record }))
    await change((set) => keeping.adoption.remove(set, { accountId: 'a', id }))
    const left = []
    for await (const page of keeping.pages(10)) left.push(...page)
    expect(left).toEqual([{ accountId: 'b', ...document, ...facts, files: [] }])
  })
})
