// Records that were created here, as documents for Kazoo.
import { expect, it } from 'vitest'
import { kazooArea } from '../../import-kazoo/area.ts'
import { preservedName } from '../../import-kazoo/conversions/preserved.rules.ts'
import type { OffersOf } from '../../src/areas/area.ts'
import type { Areas } from '../../src/areas/index.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('an export to Kazoo', (engine) => {
  const world = useWorld(engine, undefined, undefined, { more: [kazooArea] })
  const kazoo = () => (world.server.areas as Areas & OffersOf<[typeof kazooArea]>).kazoo

  /** Everything that leaves, by its database. */
  const leave = async () => {
    const databases: Record<string, Json[]> = {}
    const report = await kazoo().leave({
      async add(database, texts) {
        databases[database] = [...(databases[database] ?? []), ...texts.map((text) => JSON.parse(text))]
      },
      finish: async () => Object.keys(databases).length,
    })
    return { databases, report }
  }

  const databaseOf = (accountId: string) =>
    `account/${accountId.slice(0, 2)}/${accountId.slice(2, 4)}/${accountId.slice(4)}`

  const ofType = (documents: readonly Json[] | undefined, type: string) =>
    documents?.filter(({ pvt_type }) => pvt_type === type) ?? []

  it('has people without digests, phones with their passwords, and the key of their account', async () => {
    const sip = { username: 'lobby', password: 'lobby-secret-word' }
    const phone = await world.device(world.acme, { name: 'Lobby', sip })
    const { databases, report } = await leave()
    const documents = databases[databaseOf(world.acme.id)]
    const users = ofType(documents, 'user')
    expect(users.map(({ username, require_password_update: update }) => [username, update]).sort()).toEqual([
      ['ada', true],
      ['uli', true],
    ])
    expect(JSON.stringify(users)).not.toMatch(/md5|sha1|signInKeys/)
    expect(documents?.find(({ _id }) => _id === phone.id)).toMatchObject({ pvt_type: 'device', sip })
    const [account] = ofType(documents, 'account')
    const record = await world.server.areas.accounts.get(world.acme.id)
    expect(account).toMatchObject({
      _id: world.acme.id,
      pvt_tree: [world.master.id, world.reseller.id],
      pvt_reseller_id: world.reseller.id,
      pvt_api_key: world.server.areas.accounts.apiKeyOf(record),
    })
    expect(databases.accounts?.find(({ _id }) => _id === world.acme.id)).toEqual(account)
    expect(report.needsHand).toContainEqual({ code: 'password_missing', count: expect.any(Number) })
    const config = databases.system_config?.find(({ _id }) => _id === 'accounts')
    expect(config?.default).toMatchObject({ master_account_id: world.master.id })
  })

  it('has months that come to the balance of an account', async () => {
    const account = await world.account(world.reseller)
    await world.credit(account, 12.5)
    await world.credit(account, 2)
    const { databases } = await leave()
    const months = Object.entries(databases)
      .filter(([name]) => name.startsWith(`${databaseOf(account.id)}-`))
      .map(([name, documents]) => [
        name.slice(-6),
        ofType(documents, 'ledger').reduce(
          (sum, { amount, pvt_ledger_type: type }) => sum + Number(amount) * (type === 'debit' ? -1 : 1),
          0,
        ),
      ])
    expect(months.map(([, units]) => units)).toEqual([145_000])
    const service = databases.services?.find(({ _id }) => _id === account.id)
    expect(isObject(service?.quantities) && Object.keys(service.quantities)).toEqual([
      'account',
      'cascade',
      'manual',
    ])
  })

  it('has a number once, as its record and not as what was kept of it before', async () => {
    const { keeping } = kazoo()
    const keep = async (id: string) => {
      const name = preservedName({ database: 'numbers/+1415', id })
      const set = new ChangeSet({ requestId: 'import' })
      const text = JSON.stringify({ _id: id, _rev: '2-a', pvt_state: 'odd' })
      const content = { doc: {}, facts: { type: 'number', text }, files: [] }
      const times = { created: 0, modified: 0 }
      await keeping.adoption.put(set, { accountId: 'system', id: name, revision: 'r', ...times, ...content })
      await world.server.store.adopt(set)
    }
    const number = '+14155550170'
    await world.operator.put(
      `${world.acme.path}/phone_numbers/${encodeURIComponent(number)}`,
      {},
      {
        query: { accept_charges: true },
      },
    )
    for (const id of [number, '+14155550171']) await keep(id)
    const { databases, report } = await leave()
    expect(databases['numbers/+1415']?.map(({ _id, pvt_state }) => [_id, pvt_state]).sort()).toEqual([
      [number, 'in_service'],
      ['+14155550171', 'odd'],
    ])
    expect(report.leftOut).toMatchObject({ 'number (kept)': 1 })
  })
})
