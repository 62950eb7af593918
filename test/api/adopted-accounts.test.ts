// Imported accounts of another system, unchanged.

import { expect, it } from 'vitest'
import type { AccountFacts } from '../../src/areas/accounts/accounts/adoption.ts'
import { importMaster } from '../../src/areas/adopted-master.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { type Arriving, createTaker, once } from '../support/kazoo/adopting.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const idOf = (letter: string) => letter.repeat(32)

describeAnyEngine('adopted accounts', (engine) => {
  const taker = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker.area] })

  const account = (id: string, tree: readonly string[], facts: Partial<AccountFacts> = {}): Arriving => ({
    as: 'account',
    accountId: id,
    id,
    doc: { name: `Name of ${id}`, realm: `${id}.test`, shoe: 45 },
    facts: {
      tree,
      isReseller: false,
      isSuperduper: false,
      allowsNumberAdditions: false,
      enabled: true,
      nameClaim: `nameof${id}`,
      ...facts,
    },
  })

  const treesBelow = async (path: string) => {
    const { data } = await world.operator.get(`${path}/descendants`, { query: { paginate: false } })
    return Object.fromEntries(data.map((row: { id: string; tree: string[] }) => [row.id, row.tree]))
  }

  it('keep their ids, times and fields, below those above them, and their API keys work', async () => {
    const [r, c] = [idOf('1'), idOf('2')]
    const apiKey = 'ab'.repeat(32)
    const tree = [world.master.id, r]
    const arriving = [
      account(r, [world.master.id], { isReseller: true }),
      account(c, tree, { apiKey, allowsNumberAdditions: true, enabled: true }),
    ]
    expect(await taker.take(world, ...arriving)).toEqual([true, true])
    expect(await world.operator.get(`/v2/accounts/${c}`)).toSucceedWith({
      id: c,
      name: `Name of ${c}`,
      realm: `${c}.test`,
      shoe: 45,
      enabled: true,
      created: once,
      modified: once + 1,
      is_reseller: false,
      reseller_id: r,
      superduper_admin: false,
      wnm_allow_additions: true,
      billing_mode: 'manual',
      knm_allow_additions: true,
      descendants_count: 0,
      available_apps: [],
      blacklists: [],
      caller_id: { internal: { name: '' }, external: { name: '' }, emergency: { name: '' } },
      // The account sets neither of these.
      timezone: 'UTC',
      language: 'en-US',
    })
    const signedIn = await world.anonymous.put('/v2/api_auth', { api_key: apiKey })
    expect(signedIn).toSucceedWith(expect.objectContaining({ account_id: c, reseller_id: r }))
    const { doc, hidden } = await world.server.areas.accounts.get(c)
    expect(JSON.stringify({ doc, hidden })).not.toContain(apiKey)
  })

  it('are taken in once, however often they come', async () => {
    const id = idOf('3')
    const arriving = account(id, [world.master.id], { apiKey: 'cd'.repeat(32) })
    expect(await taker.take(world, arriving)).toEqual([true])
    expect(await world.unchanged(() => taker.take(world, arriving))).toEqual([false])
    const before = await world.server.areas.accounts.get(id)
    await taker.take(world, { ...arriving, doc: { ...arriving.doc, shoe: 46 } })
    const after = await world.server.areas.accounts.get(id)
    expect(after.doc.shoe).toBe(46)
    expect(after.hidden).toEqual(before.hidden)
    // The first sub-account of many: the count has not moved.
    expect(await treesBelow(world.master.path)).toMatchObject({ [id]: [world.master.id] })
  })

  it('move with all accounts below them, whether those are imported again or not, and each account is counted once', async () => {
    const m = world.master.id
    const [p, q, a, b, c] = ['4', '5', '6', '7', '8'].map(idOf) as [string, string, string, string, string]
    const first = [account(p, [m]), account(q, [m]), account(a, [m, p]), account(b, [m, p, a])]
    await taker.take(world, ...first, account(c, [m, p, a, b]))
    const masterCount = (await world.server.areas.accounts.get(m)).tally
    // `b` is imported again together with its new parent, `c` is not.
    await taker.take(world, account(a, [m, q]), account(b, [m, q, a]))
    expect(await treesBelow(`/v2/accounts/${q}`)).toEqual({ [a]: [m, q], [b]: [m, q, a], [c]: [m, q, a, b] })
    expect(await treesBelow(`/v2/accounts/${p}`)).toEqual({})
    const tallyOf = async (id: string) => (await world.server.areas.accounts.get(id)).tally
    expect([await tallyOf(m), await tallyOf(p), await tallyOf(q), await tallyOf(a)]).toEqual([
      masterCount,
      0,
      3,
      2,
    ])
    // The account that was below is now above.
    await taker.take(world, account(b, [m, q]), account(a, [m, q, b]), account(c, [m, q, b]))
    expect(await treesBelow(`/v2/accounts/${q}`)).toEqual({ [a]: [m, q, b], [b]: [m, q], [c]: [m, q, b] })
    expect([await tallyOf(q), await tallyOf(a), await tallyOf(b)]).toEqual([3, 0, 2])
    await world.server.scheduler.runNow('quantities')
    const cascadeOf = async (id: string) => (await world.server.areas.services.quantities.of(id)).cascade
    expect(await cascadeOf(q)).toEqual({ accounts: { account: 3 } })
    expect(await cascadeOf(p)).toEqual({})
    await taker.take(world, account(b, [m, p]), account(a, [m, p, b]), account(c, [m, p, b]))
    await world.server.scheduler.runNow('quantities')
    expect([await cascadeOf(q), await cascadeOf(p)]).toEqual([{}, { accounts: { account: 3 } }])
  })

  it('take names and realms from each other, in whatever order they come', async () => {
    const m = world.master.id
    const [a, b] = [idOf('9'), `${'9'.repeat(31)}0`]
    const named = (id: string, realm: string, nameClaim: string): Arriving => {
      const one = account(id, [m], { nameClaim })
      return { ...one, doc: { ...one.doc, realm } }
    }
    await taker.take(world, named(a, 'one.swap.test', 'swapone'), named(b, 'two.swap.test', 'swaptwo'))
    await taker.take(world, named(a, 'two.swap.test', 'swaptwo'), named(b, 'one.swap.test', 'swapone'))
    expect((await world.server.areas.accounts.byRealm('ONE.swap.test'))?.id).toBe(b)
    expect((await world.server.areas.accounts.byRealm('two.swap.test'))?.id).toBe(a)
    await taker.take(world, named(b, 'two.swap.test', 'swaptwo'), named(a, 'one.swap.test', 'swapone'))
    expect((await world.server.areas.accounts.byRealm('one.swap.test'))?.id).toBe(a)
  })

  it('go with what they hold, and count no more', async () => {
    const m = world.master.id
    const [p, a] = [idOf('a'), idOf('b')]
    await taker.take(world, account(p, [m]), account(a, [m, p]))
    await taker.take(world, {
      as: 'user',
      accountId: a,
      id: idOf('c'),
      doc: { first_name: 'A', last_name: 'B', enabled: true },
    })
    await world.server.scheduler.runNow('quantities')
    expect(await taker.remove(world, 'account', { accountId: a, id: a })).toBe(true)
    expect(await taker.remove(world, 'account', { accountId: a, id: a })).toBe(false)
    await world.server.scheduler.runNow('quantities')
    expect(await world.server.areas.accounts.find(a)).toBeUndefined()
    expect(await world.server.areas.users.find(a, idOf('c'))).toBeUndefined()
    expect((await world.server.areas.services.quantities.of(p)).cascade).toEqual({})
    expect((await world.server.areas.accounts.get(p)).tally).toBe(0)
  })

  it('do not replace the master account while it has sub-accounts', async () => {
    const id = idOf('e')
    const facts = { nameClaim: 'late', isReseller: true, isSuperduper: true }
    const set = new ChangeSet({ requestId: 'run' })
    const arrival = taker.arrivalOf(account(id, [], facts))
    await expect(importMaster(world.server.areas, set, arrival)).rejects.toThrow('has sub-accounts')
    expect(set.statements).toEqual([])
  })
})

describeAnyEngine('the master account of another system', (engine) => {
  const taker = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker.area] })

  it('replaces the first master account, whose admin becomes its admin', async () => {
    const { server, anonymous } = world
    const first = world.master
    // The world has more than a store after its first start.
    for (const { id } of [world.acme, world.rival, world.reseller])
      await taker.remove(world, 'account', { accountId: id, id })
    await world.configure('crossbar.accounts', { allow_sibling_listing: false })
    const id = idOf('d')
    const arriving = {
      as: 'account',
      accountId: id,
      id,
      doc: { name: 'Kazoo & Co', realm: 'kazoo.example' },
      facts: {
        tree: [],
        isReseller: true,
        isSuperduper: true,
        allowsNumberAdditions: true,
        enabled: true,
        nameClaim: 'kazooco',
      },
    }
    const set = new ChangeSet({ requestId: 'run' })
    expect(await importMaster(server.areas, set, taker.arrivalOf(arriving))).toBe(true)
    await server.store.adopt(set)
    const again = new ChangeSet({ requestId: 'run' })
    expect(await importMaster(server.areas, again, taker.arrivalOf(arriving))).toBe(false)
    expect(await taker.take(world, arriving)).toEqual([false])

    const credentials = credentialsOf('operator', 'operator-secret')
    const signIn = { credentials, account_name: 'Kazoo & Co' }
    const signedIn = await anonymous.put('/v2/user_auth', signIn)
    expect(signedIn).toSucceedWith(expect.objectContaining({ account_id: id, is_master_account: true }))
    const operator = world.clientWithToken(String(signedIn.body.auth_token))
    expect((await operator.get(`/v2/accounts/${id}`)).data).toMatchObject({
      id,
      name: 'Kazoo & Co',
      created: once,
    })
    const users = await operator.get(`/v2/accounts/${id}/users`)
    expect(users.data).toEqual([expect.objectContaining({ id: world.operator.id, username: 'operator' })])
    expect((await world.operator.get(first.path)).status).toBe(401)

    // The data of the system now belongs to the new master account, which can also read the audit log of the
    // old one.
    expect(await server.store.standingOf('system')).toEqual({ accountId: id, tree: [] })
    expect((await operator.get(`${first.path}/audit`)).status).toBe(200)
    const patched = await operator.patch('/v2/system_configs/crossbar.accounts', {
      default: { allow_sibling_listing: true },
    })
    expect(patched.status).toBe(200)
    const { data } = await operator.get(`/v2/accounts/${id}/audit`)
    expect(data.map(({ record }: { record: unknown }) => record)).toContainEqual(
      expect.objectContaining({ id: 'crossbar.accounts' }),
    )
    const made = await operator.put('/v2/accounts', { name: 'Below', realm: 'below.example' })
    expect(made).toSucceedWith(expect.objectContaining({ reseller_id: id }))
    expect((await server.areas.services.quantities.of(id)).account).toMatchObject({ users: { admin: 1 } })
  })
})
