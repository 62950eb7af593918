// Documents that nothing here reads are stored encrypted with their account, and can be read back unchanged.
import { expect, it } from 'vitest'
import { preservedName } from '../../import-kazoo/conversions/preserved.rules.ts'
import {
  createPreservedDocuments,
  type PreservedDocument,
  type PreservedDocuments,
} from '../../import-kazoo/import-run/preserved-documents.sql.ts'
import { area } from '../../src/areas/area.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const database = 'account/aa/bb/cc'

describeEngines('what is kept of a Kazoo', (engine) => {
  const own = {} as { keeping: PreservedDocuments }
  const keeper = area({
    name: 'keeper',
    create({ store }) {
      own.keeping = createPreservedDocuments(store)
      return {}
    },
  })
  const world = useWorld(engine, undefined, undefined, { more: [keeper] })

  const change = async <T>(act: (set: ChangeSet) => Promise<T>) => {
    const set = new ChangeSet({ requestId: 'import' })
    const result = await act(set)
    if (set.changes.length > 0) await world.server.store.adopt(set)
    return result
  }

  const keep = (document: PreservedDocument, revision = 'r1') =>
    change((set) =>
      own.keeping.adoption.put(set, {
        accountId: document.accountId,
        id: preservedName(document),
        facts: { type: document.type, text: document.text },
        files: document.files.map(({ name, ...file }) => ({ role: name, ...file })),
        ...{ revision, created: 0, modified: 0, doc: {} },
      }),
    )

  const read = async (accountId: string, limit = 500) => {
    const found: PreservedDocument[] = []
    for await (const page of own.keeping.pages(limit)) found.push(...page)
    return found.filter((document) => document.accountId === accountId)
  }

  const documentOf = (
    accountId: string,
    id: string,
    more: Partial<PreservedDocument> = {},
  ): PreservedDocument => ({
    accountId,
    database,
    id,
    type: 'menu',
    text: `{"_id":"${id}","pin":"very-secret-pin","price":5.0,"sign":"\\u0000"}`,
    files: [],
    ...more,
  })

  it('is read again as it came, to the letter, with its files', async () => {
    const { id } = await world.account()
    const hello = { name: 'hello.wav', contentType: 'audio/wav', bytes: Buffer.from([0, 255, 7]) }
    const media = documentOf(id, 'a', { type: 'media', files: [hello] })
    expect(await keep(media)).toBe(true)
    expect(await world.unchanged(() => keep(media))).toBe(false)
    expect(await read(id)).toEqual([media])
  })

  it('is encrypted in the store', async () => {
    const { id } = await world.account()
    await keep(documentOf(id, 'sealed'))
    const rows = await world.server.store.all('SELECT doc FROM kazoo_kept WHERE account_id = $1', [id])
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain('very-secret-pin')
  })

  it('is replaced whole, and forgotten', async () => {
    const { id } = await world.account()
    const hello = { name: 'hello.wav', contentType: 'audio/wav', bytes: Buffer.from('hello') }
    await keep(documentOf(id, 'a', { files: [hello] }))
    const other = documentOf(id, 'a', { text: '{"_id":"a"}' })
    expect(await keep(other, 'r2')).toBe(true)
    expect(await read(id)).toEqual([other])
    const name = preservedName({ database, id: 'a' })
    const forget = () => change((set) => own.keeping.adoption.remove(set, { accountId: id, id: name }))
    expect(await forget()).toBe(true)
    expect(await world.unchanged(forget)).toBe(false)
    expect(await read(id)).toEqual([])
  })

  it('is read in pages, each document once', async () => {
    const { id } = await world.account()
    const all = ['a', 'b', 'c', 'd', 'e'].map((name) => documentOf(id, name))
    for (const document of all) await keep(document)
    for (const limit of [1, 2, 5, 6]) expect(await read(id, limit)).toEqual(all)
  })

  it('goes with its account, and with no other', async () => {
    const [gone, other] = [await world.account(), await world.account()]
    await keep(documentOf(gone.id, 'a'))
    await keep(documentOf(other.id, 'a'))
    expect(await world.operator.delete(gone.path)).toSucceed()
    expect(await read(gone.id)).toEqual([])
    expect(await read(other.id)).toEqual([documentOf(other.id, 'a')])
  })
})
