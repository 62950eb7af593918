// Reference 01 sections 3.1 and 3.4: accounts above and below, moving, promoting, deleting.
import { expect, it } from 'vitest'
import type { Json } from '../../src/storage/records.ts'
import type { Client } from '../support/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world.ts'

const noId = '0123456789abcdef0123456789abcdef'
const row = ({ id, name, realm }: TestAccount, more: Json = {}) => ({ id, name, realm, flags: [], ...more })
const ascending = { query: { ascending: true } }

describeEngines('the account tree', (engine) => {
  const world = useWorld(engine)

  const chain = async (length: number, root = world.acme) => {
    const accounts: TestAccount[] = []
    for (let parent = root; accounts.length < length; parent = accounts.at(-1) as TestAccount)
      accounts.push(await world.account(parent))
    return accounts as [TestAccount, ...TestAccount[]]
  }

  const idsAt = async (client: Client, path: string): Promise<string[]> => {
    const answer = await client.get(path, { query: { paginate: false, ascending: true } })
    expect(answer).toSucceed()
    return answer.data.map(({ id }: Json) => id)
  }

  const countOf = async ({ path }: TestAccount) => (await world.operator.get(path)).data.descendants_count

  it('lists children by name, with the number of accounts below each', async () => {
    const parent = await world.account(world.acme)
    const b = await world.account(parent, { name: 'B tree', flags: ['x'] })
    const a = await world.account(parent, { name: 'a tree' })
    await chain(2, b)
    expect(await world.ada.get(`${parent.path}/children`, ascending)).toSucceedWith([
      row(a, { descendants_count: 0 }),
      row(b, { descendants_count: 2, flags: ['x'] }),
    ])
  })

  it('lists descendants with the accounts above each', async () => {
    const [top, middle, leaf] = await chain(3)
    const above = [world.master.id, world.reseller.id, world.acme.id, top.id]
    const answer = await world.ada.get(`${top.path}/descendants`, ascending)
    expect(answer).toSucceedWith([
      row(middle as TestAccount, { tree: above }),
      row(leaf as TestAccount, { tree: [...above, middle?.id] }),
    ])
  })

  it('lists what is above, top first, from the caller downwards', async () => {
    const [one, two, three, four, leaf] = (await chain(5)) as TestAccount[]
    const below = [one, two, three, four].map((account) => account?.id)
    for (const list of ['tree', 'parents']) {
      const seen = (client: Client) => idsAt(client, `${leaf?.path}/${list}`)
      expect(await seen(world.ada)).toEqual([world.acme.id, ...below])
      expect(await seen(world.ross)).toEqual([world.reseller.id, world.acme.id, ...below])
      expect(await seen(world.operator)).toEqual([
        world.master.id,
        world.reseller.id,
        world.acme.id,
        ...below,
      ])
      expect(await seen(await world.user(leaf as TestAccount))).toEqual([])
    }
    const { data } = await world.ada.get(`${two?.path}/parents`)
    expect(data).toEqual([row(world.acme), row(one as TestAccount)])
  })

  it('lists siblings, but not one’s own', async () => {
    const parent = await world.account(world.acme)
    const a = await world.account(parent)
    const b = await world.account(parent)
    const expected = [a, b].map((account) => row(account, { descendants_count: 0 }))
    expect(await world.ada.get(`${a.path}/siblings`, ascending)).toSucceedWith(expected)
    const own = await world.admin(a)
    expect(await own.get(`${a.path}/siblings`)).toFailWith(403, 'forbidden')
    await world.configure('crossbar.accounts', { allow_sibling_listing: false })
    expect(await world.ada.get(`${a.path}/siblings`)).toFailWith(403, 'forbidden')
    expect(await world.operator.get(`${a.path}/siblings`, ascending)).toSucceedWith(expected)
    await world.configure('crossbar.accounts', { allow_sibling_listing: true })
  })

  it('shows nothing of strangers', async () => {
    for (const list of ['children', 'descendants', 'siblings', 'parents', 'tree', 'api_key'])
      expect(await world.rex.get(`${world.acme.path}/${list}`)).toFailWith(403, 'forbidden')
  })

  it('can be filtered, paged and read as CSV', async () => {
    const parent = await world.account(world.acme)
    await Promise.all(['x', 'y', 'z'].map((org) => world.account(parent, { org })))
    const path = `${parent.path}/children`
    const filtered = await world.ada.get(path, { query: { filter_org: 'y' } })
    expect(filtered.body.page_size).toBe(1)
    const page = await world.ada.get(path, { query: { page_size: 2 } })
    const start_key = page.body.next_start_key as string
    const rest = await world.ada.get(path, { query: { page_size: 2, start_key } })
    expect([...page.data, ...rest.data]).toHaveLength(3)
    const csv = await world.ada.get(path, { query: { accept: 'csv' } })
    expect(csv.text).toMatch(/^id,name,realm,flags,descendants_count\r\n/)
  })

  it('counts right when accounts come and go', async () => {
    const [top, middle, leaf] = (await chain(3)) as [TestAccount, TestAccount, TestAccount]
    expect(await Promise.all([top, middle, leaf].map(countOf))).toEqual([2, 1, 0])
    const more = await Promise.all([world.account(middle), world.account(middle), world.account(top)])
    expect(await Promise.all([top, middle].map(countOf))).toEqual([5, 3])
    await Promise.all([...more, leaf].map(({ path }) => world.ada.delete(path)))
    expect(await Promise.all([top, middle].map(countOf))).toEqual([1, 0])
  })

  describeMoving()
  describeResellers()
  describeDeleting()

  function describeMoving() {
    it('moves an account with all below it', async () => {
      const [from, moved, leaf] = (await chain(3)) as [TestAccount, TestAccount, TestAccount]
      const to = await world.account(world.rival)
      const answer = await world.operator.post(`${moved.path}/move`, { to: to.id })
      expect(answer).toSucceedWith((await world.operator.get(moved.path)).data)
      const above = [world.master.id, world.reseller.id, world.rival.id, to.id]
      expect(await idsAt(world.operator, `${moved.path}/tree`)).toEqual(above)
      expect(await idsAt(world.operator, `${leaf.path}/tree`)).toEqual([...above, moved.id])
      expect(await idsAt(world.rex, `${to.path}/descendants`)).toEqual([moved.id, leaf.id])
      expect(await idsAt(world.ada, `${from.path}/descendants`)).toEqual([])
      expect(await Promise.all([from, to].map(countOf))).toEqual([0, 2])
      expect(await world.ada.get(leaf.path)).toFailWith(403, 'forbidden')
      expect(await world.rex.get(leaf.path)).toSucceed()
    })

    it('gives a moved account the reseller of its new place', async () => {
      const [moved, leaf] = (await chain(2)) as [TestAccount, TestAccount]
      const resellerOf = async ({ path }: TestAccount) => (await world.operator.get(path)).data.reseller_id
      const other = await world.account(world.master)
      await world.operator.put(`${other.path}/reseller`)
      expect(await resellerOf(leaf)).toBe(world.reseller.id)
      await world.operator.post(`${moved.path}/move`, { to: other.id })
      expect(await Promise.all([moved, leaf].map(resellerOf))).toEqual([other.id, other.id])
    })

    it('refuses to move into itself, to nowhere and without a target', async () => {
      const [moved, leaf] = (await chain(2)) as [TestAccount, TestAccount]
      const move = (data: Json) => world.unchanged(() => world.operator.post(`${moved.path}/move`, data))
      for (const to of [moved.id, leaf.id]) expect(await move({ to })).toFailWith(403, 'forbidden')
      expect(await move({})).toBreak({ to: ['required'] })
      expect(await move({ to: 'x' })).toBreak({ to: ['minLength'] })
      expect(await move({ to: noId })).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: noId,
      })
    })

    it('moves for the operator only, or within a common tree when allowed', async () => {
      const [from, moved] = (await chain(2)) as [TestAccount, TestAccount]
      const to = await world.account(world.acme)
      const move = (client: Client, target = to) => client.post(`${moved.path}/move`, { to: target.id })
      for (const client of [world.ada, world.ross, world.rex, world.acmeKey])
        expect(await world.unchanged(() => move(client))).toFailWith(403, 'forbidden')
      await world.configure('crossbar.accounts', { allow_move: 'tree' })
      for (const client of [world.rex, await world.admin(from)])
        expect(await world.unchanged(() => move(client))).toFailWith(403, 'forbidden')
      expect(await world.unchanged(() => move(world.ada, world.rival))).toFailWith(403, 'forbidden')
      expect(await move(world.ada)).toSucceed()
      await world.configure('crossbar.accounts', { allow_move: 'superduper' })
    })

    it('does not move the master account', async () => {
      const answer = await world.unchanged(() =>
        world.operator.post(`${world.master.path}/move`, { to: world.acme.id }),
      )
      expect(answer).toFailWith(403, 'forbidden')
    })

    it('keeps the tree whole when accounts move at the same time', async () => {
      const a = await world.account(world.acme)
      const b = await world.account(world.acme)
      const into = (moved: TestAccount, to: TestAccount) =>
        world.operator.post(`${moved.path}/move`, { to: to.id })
      const answers = await Promise.all([into(a, b), into(b, a)])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 403])
      const below = await idsAt(world.operator, `${world.acme.path}/descendants`)
      expect(below).toEqual(expect.arrayContaining([a.id, b.id]))
    })
  }

  function describeResellers() {
    const resellerOf = async ({ path }: TestAccount) => (await world.operator.get(path)).data.reseller_id

    it('promotes and demotes a reseller, with everything below', async () => {
      const [promoted, child, leaf] = (await chain(3)) as [TestAccount, TestAccount, TestAccount]
      const up = await world.operator.put(`${promoted.path}/reseller`)
      expect(up).toSucceed()
      expect(up.data).toMatchObject({ id: promoted.id, is_reseller: true, reseller_id: world.reseller.id })
      expect(await Promise.all([child, leaf].map(resellerOf))).toEqual([promoted.id, promoted.id])
      const down = await world.operator.delete(`${promoted.path}/reseller`)
      expect(down.data).toMatchObject({ id: promoted.id, is_reseller: false })
      expect(await Promise.all([child, leaf].map(resellerOf))).toEqual([world.reseller.id, world.reseller.id])
    })

    it('promotes for the operator only', async () => {
      const account = await world.account(world.acme)
      for (const client of [world.ada, world.ross, world.uli]) {
        for (const method of ['PUT', 'DELETE']) {
          const answer = await world.unchanged(() => client.request(method, `${account.path}/reseller`, {}))
          expect(answer).toFailWith(403, 'forbidden')
        }
      }
    })

    it('leaves resellers with resellers below them, and the master account, as they are', async () => {
      const [upper, lower] = (await chain(2)) as [TestAccount, TestAccount]
      await world.operator.put(`${lower.path}/reseller`)
      const descendants = { message: 'account has descendants', cause: upper.id }
      const promoted = await world.unchanged(() => world.operator.put(`${upper.path}/reseller`))
      expect(promoted).toFailWith(500, 'account_has_descendants', descendants)
      const demoted = await world.unchanged(() => world.operator.delete(`${world.reseller.path}/reseller`))
      expect(demoted).toFailWith(500, 'account_has_descendants')
      for (const method of ['PUT', 'DELETE']) {
        const path = `${world.master.path}/reseller`
        const answer = await world.unchanged(() => world.operator.request(method, path))
        expect(answer).toFailWith(403, 'forbidden')
      }
    })
  }

  function describeDeleting() {
    it('deletes an account and answers it as it was', async () => {
      const account = await world.account(world.acme)
      const user = await world.user(account)
      const before = await world.ada.get(account.path)
      const answer = await world.ada.delete(account.path)
      expect(answer).toSucceedWith(before.data)
      expect(answer.body.metadata).toEqual({ ...before.body.metadata, deleted: true })
      expect(await world.ada.get(account.path)).toFailWith(401, 'invalid credentials', {})
      expect(await world.ada.get(user.path)).toFailWith(401, 'invalid credentials', {})
      expect(await user.get(account.path)).toFailWith(401, 'invalid credentials', {})
      expect(await idsAt(world.ada, `${world.acme.path}/descendants`)).not.toContain(account.id)
    })

    it('leaves nothing of a deleted account behind', async () => {
      const account = await world.account(world.acme)
      await world.user(account, { username: 'ghost', password: 'boo-boo-boo' })
      const before = await world.snapshot()
      expect(before.records?.some((text) => text.includes(account.id))).toBe(true)
      await world.ada.delete(account.path)
      for (const rows of Object.values(await world.snapshot()))
        expect(rows.filter((text) => text.includes(account.id))).toEqual([])
    })

    it('frees the name and realm of a deleted account', async () => {
      const account = await world.account(world.acme, { name: 'Phoenix', realm: 'phoenix.example' })
      await world.ada.delete(account.path)
      expect(await world.rex.put('/v2/accounts', { name: 'phoenix', realm: 'PHOENIX.example' })).toSucceed()
    })

    it('does not delete accounts that have others below them', async () => {
      const [top] = await chain(2)
      const answer = await world.unchanged(() => world.ada.delete(top.path))
      expect(answer).toFailWith(500, 'account_has_descendants', {
        message: 'account has descendants',
        cause: top.id,
      })
    })

    it('does not delete the caller’s own account, nor the master account', async () => {
      const account = await world.account(world.acme)
      const own = await world.admin(account)
      expect(await world.unchanged(() => own.delete(account.path))).toFailWith(403, 'forbidden', {
        message: 'deleting your own account is forbidden',
        cause: account.id,
      })
      const answer = await world.unchanged(() => world.operator.delete(world.master.path))
      expect(answer).toFailWith(405, 'invalid_method')
    })

    it('never loses a child that is born while its parent is deleted', async () => {
      for (let round = 0; round < 5; round += 1) {
        const parent = await world.account(world.acme)
        const [deleted, born] = await Promise.all([
          world.ada.delete(parent.path),
          world.ada.put(parent.path, { name: `Born ${round}` }),
        ])
        if (deleted.status === 200) expect(born).toFailWith(401, 'invalid credentials')
        else {
          expect(deleted).toFailWith(500, 'account_has_descendants')
          expect(born).toSucceed()
        }
      }
    })
  }
})

describeEngines('the API key of an account', (engine) => {
  const world = useWorld(engine)
  const path = () => `${world.acme.path}/api_key`
  const aKey = expect.stringMatching(/^[0-9a-f]{64}$/)

  it('can be read, also with the account', async () => {
    const answer = await world.ada.get(path())
    expect(answer).toSucceedWith({ api_key: aKey })
    const query = { include_api_key: true }
    const { body } = await world.ada.get(world.acme.path, { query })
    expect(body.metadata.api_key).toBe(answer.data.api_key)
    expect(body.data).not.toHaveProperty('api_key')
    expect((await world.ada.get(world.acme.path)).body.metadata).not.toHaveProperty('api_key')
  })

  it('is another one after a reset', async () => {
    const before = (await world.ada.get(path())).data.api_key
    const answer = await world.ada.put(path(), {})
    expect(answer).toSucceedWith({ api_key: aKey })
    expect(answer.data.api_key).not.toBe(before)
    expect((await world.ada.get(path())).data).toEqual(answer.data)
  })

  it('is reset by admins only, and by people only', async () => {
    for (const client of [world.uli, world.acmeKey, world.rex]) {
      const answer = await world.unchanged(() => client.put(path(), {}))
      expect(answer).toFailWith(403, 'forbidden')
    }
    expect(await world.ross.put(path(), {})).toSucceed()
  })

  it('is nowhere in clear in the store', async () => {
    const { api_key } = (await world.ada.get(path())).data
    expect(JSON.stringify(await world.snapshot())).not.toContain(api_key)
  })
})
