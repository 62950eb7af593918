// All that an edge may ask about a realm at once: each row is what it would be answered for one sender.
import { expect, it } from 'vitest'
import { countOf } from '../support/run/run-length.ts'
import type { Client } from '../support/world/client.ts'
import { giveMany } from '../support/world/many-devices.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const many = countOf(3000, 10_000)

type Row = Record<string, unknown> & { username?: string; address?: string }

describeEngines('the export of a realm', (engine) => {
  const world = useWorld(engine)
  let addresses = 0
  const freshAddress = () => `198.51.100.${++addresses}`

  const exported = async (who: Client, query: Record<string, string>) => {
    const answer = await who.get('/v2/edge/export', { query })
    expect(answer).toSucceed()
    return { rows: answer.data as Row[], sequence: answer.body.metadata.sequence as string }
  }

  const withoutDecision = ({ allowed: _, reason: __, ...rest }: Row): Row => rest

  /** The answer that the edge gets for the sender of a row. */
  const asked = async (who: Client, realm: string, { username, address }: Row): Promise<Row> => {
    const query = {
      realm,
      credentials: 'true',
      ...(username === undefined ? {} : { username }),
      ...(address === undefined ? {} : { address }),
    }
    const { data } = await who.get('/v2/edge', { query })
    return { ...(username ? { username } : {}), ...(address ? { address } : {}), ...data }
  }

  const trunkOf = (servers: object[], realm?: string) => ({
    account: realm === undefined ? {} : { auth_realm: realm },
    servers,
  })

  const byPassword = (auth_user: string, fields: object = {}) => ({
    server_name: auth_user,
    auth: { auth_method: 'Password', auth_user, auth_password: 'longer-than-that' },
    ...fields,
  })

  /** An account with something of each kind, and how many rows it has. */
  const town = async () => {
    const account = await world.account(world.reseller)
    const owner = await world.user(account, { enabled: false })
    const listed = { order: 'deny,allow', cidrs: ['10.0.0.0/8'], user_agent: '^Snom' }
    const phone = (sip: object, fields: object = {}) => world.device(account, { sip, ...fields })
    await phone({ username: 'Plain', password: 'secret-1', expire_seconds: 300 })
    const guarded = await phone({ username: 'guarded', password: 'secret-2' })
    await world.operator.post(`${guarded.path}/access_lists`, listed)
    await phone({ username: 'off', password: 'secret-3' }, { enabled: false })
    await phone({ username: 'owned', password: 'secret-4' }, { owner_id: owner.id })
    await phone({ username: 'away', password: 'secret-5', realm: `elsewhere.${account.realm}` })
    await phone({ method: 'ip', ip: freshAddress() })
    const trunks = [
      trunkOf([
        byPassword('pbx'),
        byPassword('closed', { options: { enabled: false } }),
        { server_name: 'known', auth: { auth_method: 'IP', ip: freshAddress() } },
      ]),
      trunkOf([byPassword('outer')], `elsewhere.${account.realm}`),
    ]
    for (const trunk of trunks)
      expect(await world.operator.put(`${account.path}/connectivity`, trunk)).toSucceed()
    return account
  }

  const expectAsAsked = async (realm: string, rows: Row[]) => {
    for (const row of rows) {
      const answer = await asked(world.operator, realm, row)
      // The answer for an address contains a decision. A row without a reason leaves that decision to the edge.
      expect(
        row.address === undefined || row.reason !== undefined ? answer : withoutDecision(answer),
      ).toEqual(row)
    }
  }

  it('has a row for unknown senders, and one for each user name and address, equal to the answer for each of them', async () => {
    const account = await town()
    const { rows } = await exported(world.operator, { realm: account.realm, credentials: 'true' })
    expect(rows.map(({ username }) => username)).toEqual(
      expect.arrayContaining(['Plain', 'guarded', 'off', 'owned', 'pbx', 'closed', undefined]),
    )
    expect(rows).toHaveLength(1 + 4 + 1 + 3)
    expect(rows.filter(({ ha1 }) => ha1 !== undefined)).toHaveLength(6)
    expect(rows.filter(({ reason }) => reason !== undefined).map(({ reason }) => reason)).toEqual([
      'device_disabled',
      'user_disabled',
      'trunk_disabled',
    ])
    expect(rows[0]).toEqual((await asked(world.operator, account.realm, {})) as Row)
    await expectAsAsked(account.realm, rows)
  })

  it('has those of several accounts where no account has the realm', async () => {
    const [one, other] = [await town(), await town()]
    const realm = `shared-${one.realm}`
    const names: string[] = []
    for (const [index, account] of [one, other].entries())
      for (const username of ['Desk', 'Hall']) {
        const name = `${username}${index}`
        await world.device(account, { sip: { username: name, password: 'secret', realm } })
        names.push(name)
      }
    const { rows } = await exported(world.operator, { realm, credentials: 'true' })
    expect(rows.map(({ username }) => username)).toEqual([undefined, 'Desk0', 'Desk1', 'Hall0', 'Hall1'])
    await expectAsAsked(realm, rows)
  })

  it('is the same for a foreign realm as for an unknown one, and forbidden for the realm of the caller', async () => {
    const account = await town()
    const admin = await world.admin(account)
    const foreign = await exported(world.rex, { realm: account.realm })
    const unknown = await exported(world.rex, { realm: 'nowhere.example' })
    expect(foreign.rows).toEqual(unknown.rows)
    expect(foreign.rows).toEqual([
      (await world.rex.get('/v2/edge', { query: { realm: 'nowhere.example' } })).data,
    ])
    expect((await exported(world.rex, { realm: `elsewhere.${account.realm}` })).rows).toHaveLength(1)
    const own = await admin.get('/v2/edge/export', { query: { realm: account.realm } })
    expect(own).toFailWith(403, 'forbidden')
    expect(await world.anonymous.get('/v2/edge/export', { query: { realm: account.realm } })).toFailWith(
      401,
      'invalid_credentials',
    )
    expect(await world.operator.get('/v2/edge/export')).toBreak({ realm: ['required'] })
  })

  it('has no secrets for callers other than the operator', async () => {
    const account = await town()
    const { rows } = await exported(world.ross, { realm: account.realm })
    expect(rows).toHaveLength(9)
    expect(JSON.stringify(rows)).not.toMatch(/ha1|secret|password/)
    const query = { realm: account.realm, credentials: 'true' }
    expect(await world.ross.get('/v2/edge/export', { query })).toFailWith(403, 'forbidden')
  })

  const eventsBehind = async (account: TestAccount, sequence: string) => {
    const query = { after: sequence, type: 'device.*' }
    const { data } = await world.operator.get(`${account.path}/events`, { query })
    return (data as { type: string }[]).map(({ type }) => type)
  }

  it('names its position in the feed, from which a client misses no event and gets none twice', async () => {
    const account = await world.account(world.reseller)
    const device = await world.device(account, { sip: { username: 'bob' } })
    await eventsBehind(account, '0'.repeat(16))
    const { sequence, rows } = await exported(world.operator, { realm: account.realm })
    expect(rows).toHaveLength(2)
    await world.operator.patch(device.path, { enabled: false })
    await world.device(account, { sip: { username: 'eve' } })
    expect(await eventsBehind(account, sequence)).toEqual(['device.edited', 'device.created'])
  })

  it(`contains each of ${many} devices once and does not block other requests`, async () => {
    const account = await world.account(world.reseller)
    await giveMany(world, account, many)
    let left = 2
    const exports = Array.from({ length: left }, async () => {
      const { rows } = await exported(world.operator, { realm: account.realm, credentials: 'true' })
      left -= 1
      return [rows.length, new Set(rows.map(({ username }) => username)).size]
    })
    let answered = 0
    while (left > 0) {
      const query = { realm: account.realm, username: 'phone000007' }
      expect(await world.operator.get('/v2/edge', { query })).toSucceed()
      answered += 1
    }
    for (const counts of await Promise.all(exports)) expect(counts).toEqual([many + 1, many + 1])
    // More than the one that may have been sent before the exports began.
    expect(answered).toBeGreaterThan(1)
  })
})
