// A write depends on the version of the account that it has read: a faster change makes the write fail.
import { Client } from 'pg'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('a write that relies on an account', (engine) => {
  const world = useWorld(engine)
  const author = { requestId: 'late' }
  const lost = { kind: { name: 'datastore_conflict' } }
  const fields = (name: string): Json => ({ name, realm: `${name.toLowerCase()}.test` })

  it('makes no account below one that is gone', async () => {
    const { accounts } = world.server.areas
    const parent = await world.account(world.reseller)
    const asItWas = await accounts.get(parent.id)
    expect(await world.operator.delete(parent.path)).toSucceed()
    const late = () => accounts.create(author, asItWas, fields(`Orphan-${engine}`), { notice: 'none' })
    await world.unchanged(() => expect(late()).rejects.toMatchObject(lost))
  })

  it('makes no account below one that has been moved', async () => {
    const { accounts } = world.server.areas
    const parent = await world.account(world.reseller)
    const asItWas = await accounts.get(parent.id)
    expect(await world.operator.post(`${parent.path}/move`, { to: world.acme.id })).toSucceed()
    const late = () => accounts.create(author, asItWas, fields(`Stray-${engine}`), { notice: 'none' })
    await world.unchanged(() => expect(late()).rejects.toMatchObject(lost))
  })

  it('gives no number to an account that is gone', async () => {
    const { accounts, phoneNumbers } = world.server.areas
    const { numbers } = phoneNumbers
    const master = await accounts.get(world.master.id)
    const owner = await world.account(world.reseller)
    const asItWas = await accounts.get(owner.id)
    const plan = await numbers.plan.create(numbers.view(), {
      by: { accountId: master.id, account: master, user: undefined },
      author,
      account: asItWas,
      number: '+14155559901',
      fields: {},
    })
    expect(await world.operator.delete(owner.path)).toSucceed()
    await world.unchanged(() => expect(numbers.commit(plan)).rejects.toMatchObject(lost))
  })

  const flow = { module: 'hangup', data: {} }

  it.each(['devices', 'groups', 'callflows', 'connectivity', 'resources', 'webhooks'] as const)(
    'creates no record in %s of an account that is gone',
    async (name) => {
      const { accounts, resources, ...others } = world.server.areas
      const area = name === 'resources' ? resources.ofAccounts : others[name]
      const owner = await world.account(world.reseller)
      const asItWas = await accounts.get(owner.id)
      expect(await world.operator.delete(owner.path)).toSucceed()
      const data = { name: 'Late', endpoints: {}, gateways: [], flow, hook: 'sms', uri: 'https://a.test/' }
      const late = () => area.create({ author, account: asItWas }, data)
      await world.unchanged(() => expect(late()).rejects.toMatchObject(lost))
    },
  )

  it.runIf(engine === 'postgres')('makes phones of one account at the same time', async () => {
    const owner = await world.account(world.reseller)
    const other = new Client({ connectionString: world.place.databaseUrl })
    await other.connect()
    await other.query('BEGIN')
    await other.query("SELECT 1 FROM records WHERE account_id = $1 AND kind = 'account' FOR SHARE", [
      owner.id,
    ])
    expect(await world.operator.put(`${owner.path}/devices`, { name: 'At once' })).toSucceed()
    await other.query('ROLLBACK')
    await other.end()
  })
})
