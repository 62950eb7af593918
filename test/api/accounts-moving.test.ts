// Moving, promoting and deleting accounts.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Client } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld, type World } from '../support/world/world.ts'

const noId = '0123456789abcdef0123456789abcdef'

const idsAt = async (client: Client, path: string): Promise<string[]> => {
  const answer = await client.get(path, { query: { paginate: false, ascending: true } })
  expect(answer).toSucceed()
  return answer.data.map(({ id }: Json) => id)
}

const fieldOf = async (world: World, { path }: TestAccount, field: string) =>
  (await world.operator.get(path)).data[field]

describeEngines('moving an account', (engine) => {
  const world = useWorld(engine)
  const countOf = (account: TestAccount) => fieldOf(world, account, 'descendants_count')

  it('moves an account with all below it', async () => {
    const [from, moved, leaf] = (await world.chain(3, world.acme)) as [TestAccount, TestAccount, TestAccount]
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
    const [moved, leaf] = (await world.chain(2, world.acme)) as [TestAccount, TestAccount]
    const resellerOf = (account: TestAccount) => fieldOf(world, account, 'reseller_id')
    const other = await world.account(world.master)
    await world.operator.put(`${other.path}/reseller`)
    expect(await resellerOf(leaf)).toBe(world.reseller.id)
    await world.operator.post(`${moved.path}/move`, { to: other.id })
    expect(await Promise.all([moved, leaf].map(resellerOf))).toEqual([other.id, other.id])
  })

  it('refuses to move into itself, to nowhere and without a target', async () => {
    const [moved, leaf] = (await world.chain(2, world.acme)) as [TestAccount, TestAccount]
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
    const [from, moved] = (await world.chain(2, world.acme)) as [TestAccount, TestAccount]
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
})

describeEngines('resellers', (engine) => {
  const world = useWorld(engine)
  const resellerOf = (account: TestAccount) => fieldOf(world, account, 'reseller_id')

  it('promotes and demotes a reseller, with everything below', async () => {
    const [promoted, child, leaf] = (await world.chain(3, world.acme)) as [
      TestAccount,
      TestAccount,
      TestAccount,
    ]
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
    const [upper, lower] = (await world.chain(2, world.acme)) as [TestAccount, TestAccount]
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
})

describeEngines('deleting an account', (engine) => {
  const world = useWorld(engine)

  it('deletes an account and answers it as it was', async () => {
    const account = await world.account(world.acme)
    const user = await world.user(account)
    const before = await world.ada.get(account.path)
    const answer = await world.ada.delete(account.path)
    expect(answer).toSucceedWith(before.data)
    expect(answer.body.metadata).toEqual({ ...before.body.metadata, deleted: true })
    expect(await world.ada.get(account.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await world.ada.get(user.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await user.get(account.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await idsAt(world.ada, `${world.acme.path}/descendants`)).not.toContain(account.id)
  })

  it('leaves nothing of a deleted account behind', async () => {
    const account = await world.account(world.acme)
    await world.user(account, { username: 'ghost', password: 'boo-boo-boo' })
    const before = await world.snapshot()
    expect(before.records?.some((text) => text.includes(account.id))).toBe(true)
    await world.ada.delete(account.path)
    const kept = Object.values(await world.snapshot())
      .flat()
      .filter((text) => text.includes(account.id))
    // This record makes the server delete the call records of the account when their retention ends.
    expect(kept.map((text) => JSON.parse(text).kind)).toEqual(['departed_calls'])
  })

  it('frees the name and realm of a deleted account', async () => {
    const account = await world.account(world.acme, { name: 'Phoenix', realm: 'phoenix.example' })
    await world.ada.delete(account.path)
    expect(await world.rex.put('/v2/accounts', { name: 'phoenix', realm: 'PHOENIX.example' })).toSucceed()
  })

  it('does not delete accounts that have others below them', async () => {
    const [top] = await world.chain(2, world.acme)
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
      if (deleted.status === 200) expect(born).toFailWith(401, 'invalid_credentials')
      else {
        expect(deleted).toFailWith(500, 'account_has_descendants')
        expect(born).toSucceed()
      }
    }
  })
})
