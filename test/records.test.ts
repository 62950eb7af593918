// A new area of records is one folder. Here its files are the first third of this file.
import { expect, it } from 'vitest'
import { area } from '../src/areas/area.ts'
import { recordRoutes } from '../src/areas/record-routes.ts'
import { records } from '../src/areas/records.ts'
import { accountAdmin, accountMember } from '../src/auth/policies.ts'
import { failure, forbidden } from '../src/lib/failure.ts'
import { recordShape, type StoredDoc } from '../src/lib/record-shape.ts'
import { anyText, id, integer, must, open, text } from '../src/lib/schema.ts'
import { readableSecret } from '../src/lib/secrets.ts'
import { ChangeSet } from '../src/storage/change-set.ts'
import { createCollection } from '../src/storage/collection.ts'
import { sortKeyOf } from '../src/storage/records.ts'
import type { Store } from '../src/storage/store.ts'
import { notForCaller } from './support/matchers/refusals.ts'
import { describeAnyEngine, useWorld } from './support/world/world.ts'

// schema.ts
const menuShape = recordShape(
  {
    name: must(text(1, 128)),
    retries: integer({ minimum: 1, maximum: 10, default: 3 }),
    word: text(1, 20, readableSecret),
  },
  { title: 'Menu', description: 'Asks a caller for a digit. Other fields are kept' },
)
type MenuDoc = StoredDoc<typeof menuShape.body>

const MenuRow = open({ id: must(id()), name: must(anyText()) }, { title: 'Menu row' })

// operations.ts
const createMenus = (store: Store) =>
  records(store, {
    collection: createCollection<MenuDoc, object>(store, {
      kind: 'menu',
      sortKey: ({ name }) => sortKeyOf(name),
      row: ({ name }) => ({ name }),
    }),
    shape: menuShape,
    problems: async ({ data: { name } }) =>
      name === 'main' ? { name: { forbidden: { message: 'The name is reserved', value: name } } } : {},
    beforeDelete(_set, { doc }) {
      if (doc.name === 'Kept') throw failure(forbidden, { message: 'the menu is in use' })
    },
    adopted: ({ id: name, doc }) => ({ doc: { name, ...doc }, hidden: {} }),
  })

// area.ts
const menusArea = area({
  name: 'menus',
  kinds: { menu: 'menus' },
  create({ store }) {
    const menus = createMenus(store)
    const { routes } = recordRoutes(menus, {
      path: '/v2/accounts/{account_id}/menus',
      called: ['a menu', 'menus'],
      row: MenuRow,
      routes: {
        list: { allow: accountMember },
        create: { allow: accountAdmin },
        read: { allow: accountMember },
        replace: { allow: accountAdmin },
        patch: { allow: accountAdmin },
        delete: { allow: accountAdmin },
      },
    })
    // The last area of the list contributes nothing that others collect: `schemas` and `adoptions` are left out.
    return { offers: menus, routes }
  },
})

describeAnyEngine('an area of records', (engine) => {
  const world = useWorld(engine, undefined, undefined, { more: [menusArea] })

  it('stores a value that its schema marks as a secret encrypted', async () => {
    const path = `${world.acme.path}/menus`
    const { data } = await world.operator.put(path, { name: 'With a word', word: '471100' })
    const [row] = await world.server.store.all("SELECT doc FROM records WHERE kind = 'menu' AND id = $1", [
      data.id,
    ])
    expect(row?.doc).toContain('"With a word"')
    expect(row?.doc).not.toContain('471100')
    expect((await world.operator.get(`${path}/${data.id}`)).data.word).toBe('471100')
    expect(await world.operator.delete(`${path}/${data.id}`)).toSucceed()
  })

  it('lists, creates, reads, replaces, patches and deletes, and returns the history of a record', async () => {
    const account = await world.account(world.reseller)
    const { ross } = world
    const created = await ross.put(`${account.path}/menus`, { name: 'Night', id: '0', shoe: 45 })
    const { id: menuId } = created.data
    const path = `${account.path}/menus/${menuId}`
    const record = { id: menuId, name: 'Night', retries: 3, shoe: 45 }
    expect(created).toSucceedWith(record)
    expect([created.status, created.headers.location]).toEqual([201, path])
    expect(await ross.get(path)).toSucceedWith(record)
    expect(await ross.get(`${account.path}/menus`)).toSucceedWith([{ id: menuId, name: 'Night' }])
    expect(await ross.patch(path, { retries: 5 })).toSucceedWith({ ...record, retries: 5 })
    const replaced = { id: menuId, name: 'Day', retries: 3 }
    expect(await ross.post(path, { name: 'Day' })).toSucceedWith(replaced)
    const history = await ross.get(`${path}/audit`)
    expect(history.data.map(({ action }: { action: string }) => action)).toEqual([
      'edited',
      'edited',
      'created',
    ])
    const deleted = await ross.delete(path)
    expect(deleted).toSucceedWith(replaced)
    expect(deleted.body.metadata).toMatchObject({ deleted: true })
    expect(await ross.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('asks the policy of each route, its schema and its rules, and a refusal changes nothing', async () => {
    const account = await world.account(world.reseller)
    const { ross, rex } = world
    const menus = `${account.path}/menus`
    const { data } = await ross.put(menus, { name: 'Night' })
    const path = `${menus}/${data.id}`
    const foreign = await world.unchanged(() => rex.patch(path, { retries: 5 }))
    expect(foreign).toFailWith(403, 'forbidden', notForCaller)
    for (const write of [
      () => ross.put(menus, { name: 'main', retries: 0 }),
      () => ross.post(path, { name: 'main', retries: 0 }),
      () => ross.patch(path, { name: 'main', retries: 0 }),
    ])
      expect(await world.unchanged(write)).toBreak({ name: ['forbidden'], retries: ['minimum'] })
    const stale = { headers: { 'if-match': '"0"' } }
    expect(await world.unchanged(() => ross.post(path, { name: 'Day' }, stale))).toFailWith(
      412,
      'precondition failed',
    )
  })

  it('deletes nothing that its hook refuses to delete', async () => {
    const account = await world.account(world.reseller)
    const { data } = await world.ross.put(`${account.path}/menus`, { name: 'Kept' })
    const path = `${account.path}/menus/${data.id}`
    const refused = await world.unchanged(() => world.ross.delete(path))
    expect(refused).toFailWith(403, 'forbidden', { message: 'the menu is in use' })
  })

  it('imports a record with its ID and times, once', async () => {
    const account = await world.account(world.reseller)
    const { store } = world.server
    const { adoption } = createMenus(store)
    const place = { accountId: account.id, id: 'a'.repeat(32) }
    const arrival = {
      ...place,
      created: 63_800_000_000,
      modified: 63_900_000_000,
      revision: 'b'.repeat(32),
      doc: { retries: 2 },
      facts: {},
      files: [],
    }
    const put = async () => {
      const set = new ChangeSet({ requestId: 'import' })
      const isNew = await adoption.put(set, arrival)
      if (isNew) await store.adopt(set)
      return isNew
    }
    expect([await put(), await put()]).toEqual([true, false])
    const answer = await world.ross.get(`${account.path}/menus/${place.id}`)
    expect(answer).toSucceedWith({ id: place.id, name: place.id, retries: 2 })
    expect(answer.body.metadata).toMatchObject({ created: 63_800_000_000, modified: 63_900_000_000 })
  })
})
