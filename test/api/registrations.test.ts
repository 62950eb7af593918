// Registrations, as real edges return them: with a real registrar, where one is installed, and real telephones.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type SipPhone, startSipPhone } from '../support/phones/sip-phone.ts'
import { eventually } from '../support/run/eventually.ts'
import { type EdgeServer, RpcError, startEdgeServer } from '../support/servers/edge-server.ts'
import { lacks } from '../support/servers/installed.ts'
import { type Kamailio, startKamailio } from '../support/servers/kamailio.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const lacking = lacks('kamailio')

describeAnyEngine('registrations without a media switch', (engine) => {
  const world = useWorld(engine)

  it('are an empty list, of which nothing has to be deleted', async () => {
    const path = `${world.acme.path}/registrations`
    await world.device(world.acme, { sip: { username: 'nowhere' } })
    const { data, body } = await world.ada.get(path)
    expect(data).toEqual([])
    expect(body.metadata).toEqual({ edges: 0 })
    expect(await world.ada.get(`${path}/count`)).toSucceedWith({ count: 0 })
    expect(await world.ada.delete(path)).toSucceedWith('ok')
    expect(await world.ada.delete(`${path}/nowhere`)).toSucceedWith('ok')
  })
})

describeAnyEngine('registrations at an edge', (engine) => {
  const world = useWorld(engine)
  let edge: EdgeServer

  const knows = (known: Readonly<Record<string, Json>>) =>
    edge.says('ul.lookup', (_table, place) => {
      const contact = known[String(place)]
      if (!contact) throw new RpcError(500, 'AOR not found in location table')
      return { AoR: place, Contacts: [{ Contact: contact }] }
    })

  beforeAll(async () => {
    edge = await startEdgeServer()
    await world.configure('switch', {
      adapter: 'kamailio',
      kamailio: { rpc_urls: [edge.url], timeout_ms: 30_000 },
    })
  })
  afterAll(() => edge.close())

  /** The requests about registrations that the edge received. */
  const asked = () => edge.calls.filter(({ json }) => json.method.startsWith('ul.'))

  it('are returned with the data of the edge', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const device = await world.device(account, { owner_id: user.id, sip: { username: 'Desk' } })
    knows({
      [`desk@${account.realm}`]: {
        Address: 'sip:Desk@10.0.0.7:5062;transport=tcp',
        Expires: 117,
        'Call-ID': 'reg-1',
        'User-Agent': 'Yealink T46',
        Received: 'sip:203.0.113.9:31044;transport=tcp',
        Path: '[not set]',
        Socket: 'tcp:192.0.2.1:5060',
        'Last-Modified': 1_700_000_000,
      },
    })
    const admin = await world.admin(account)
    expect(await admin.get(`${account.path}/registrations`)).toSucceedWith([
      {
        account_id: account.id,
        account_realm: account.realm,
        authorizing_id: device.id,
        authorizing_type: 'device',
        owner_id: user.id,
        username: 'Desk',
        realm: account.realm,
        contact: 'sip:Desk@10.0.0.7:5062;transport=tcp',
        contact_ip: '10.0.0.7',
        contact_port: 5062,
        source_ip: '203.0.113.9',
        source_port: 31_044,
        user_agent: 'Yealink T46',
        call_id: 'reg-1',
        expires: 117,
        event_timestamp: 1_700_000_000 + 62_167_219_200,
        registrar_hostname: edge.host,
        proxy_ip: '192.0.2.1',
        proxy_port: 5060,
        proxy_protocol: 'tcp',
      },
    ])
  })

  it('are requested device by device: those of other accounts are never loaded', async () => {
    const [mine, theirs] = [await world.account(world.reseller), await world.account(world.reseller)]
    const names = Array.from({ length: 104 }, (_, at) => `phone${at}`)
    for (const username of names) await world.device(mine, { sip: { username } })
    await world.device(theirs, { sip: { username: 'phone0' } })
    const contact = { Address: 'sip:x@192.0.2.7:5060', Expires: 60, 'Call-ID': 'r', 'Last-Modified': 1 }
    knows({ [`phone0@${mine.realm}`]: contact, [`phone0@${theirs.realm}`]: contact })
    edge.calls.length = 0
    const admin = await world.admin(mine)
    const { data } = await admin.get(`${mine.path}/registrations`)
    expect((data as unknown as Json[]).map(({ realm }) => realm)).toEqual([mine.realm])
    expect(new Set(edge.told('ul.lookup').map(([, place]) => place))).toEqual(
      new Set(names.map((username) => `${username}@${mine.realm}`)),
    )
    expect(asked()).toHaveLength(104)
    edge.calls.length = 0
    const page = { with_status: 'true', page_size: '1' }
    expect((await admin.get(`${mine.path}/devices`, { query: page })).data).toHaveLength(1)
    expect(asked().length).toBeLessThanOrEqual(2)
    expect((await admin.get(`${mine.path}/registrations/count`)).data).toEqual({ count: 1 })
  })

  it('end when the edge receives the command, one device or all of an account', async () => {
    const account = await world.account(world.reseller)
    for (const username of ['Desk', 'hall']) await world.device(account, { sip: { username } })
    const admin = await world.admin(account)
    const path = `${account.path}/registrations`
    edge.calls.length = 0
    expect(await admin.delete(`${path}/DESK`)).toSucceedWith('ok')
    expect(edge.told('ul.rm')).toEqual([['location', `desk@${account.realm}`]])
    expect(await admin.delete(path)).toSucceedWith('ok')
    expect(edge.told('ul.rm').slice(1).map(String).sort()).toEqual(
      [`location,desk@${account.realm}`, `location,hall@${account.realm}`].sort(),
    )
    edge.calls.length = 0
    expect(await admin.delete(`${path}/nobody`)).toFailWith(404, 'bad_identifier')
    expect(await world.rex.delete(path)).toFailWith(403, 'forbidden')
    expect(await world.rex.delete(`${path}/desk`)).toFailWith(403, 'forbidden')
    expect(asked()).toEqual([])
  })
})

describe.skipIf(lacking)(`with Kamailio${lacking}`, () => {
  describeAnyEngine('registrations of telephones', (engine) => {
    const world = useWorld(engine)
    const phones: SipPhone[] = []
    const edges: Kamailio[] = []

    beforeAll(async () => {
      edges.push(await startKamailio(), await startKamailio())
      await world.configure('switch', {
        adapter: 'kamailio',
        kamailio: {
          rpc_urls: edges.map(({ url }) => url),
          timeout_ms: 3000,
          secret: (edges[0] as Kamailio).secret,
        },
      })
    })
    afterAll(async () => {
      for (const phone of phones) phone.close()
      await Promise.all(edges.map((edge) => edge.close()))
    })

    const telephone = async (account: TestAccount, username: string, at = 0) => {
      const server = edges[at] as Kamailio
      const phone = await startSipPhone({ username, realm: account.realm, server, userAgent: `Phone ${at}` })
      phones.push(phone)
      expect((await phone.register()).status).toBe(200)
      return phone
    }

    it('are those of all edges together, and those of one account alone', async () => {
      const [account, other] = [await world.account(world.reseller), await world.account(world.reseller)]
      const admin = await world.admin(account)
      for (const one of [account, other]) await world.device(one, { sip: { username: 'desk' } })
      const off = await world.device(account, { sip: { username: 'off' } })
      const desks = [await telephone(account, 'desk'), await telephone(account, 'desk', 1)]
      await telephone(other, 'desk')
      const { data } = await admin.get(`${account.path}/registrations`)
      const seen = (data as unknown as Json[]).map((row) => [
        row.contact,
        row.user_agent,
        row.registrar_hostname,
      ])
      expect(seen.toSorted()).toEqual(
        desks.map(({ contact }, at) => [contact, `Phone ${at}`, `127.0.0.1:${edges[at]?.port}`]).toSorted(),
      )
      expect((await admin.get(`${account.path}/registrations/count`)).data).toEqual({ count: 2 })
      const statuses = (await admin.get(`${account.path}/devices/status`)).data as unknown as Json[]
      expect(statuses).toContainEqual({ device_id: off.id, registrable: true, registered: false })
      expect(statuses.filter(({ registered }) => registered === true)).toHaveLength(1)
    })

    it('end with a change of the password, everywhere, and the device shows it', async () => {
      const account = await world.account(world.reseller)
      const admin = await world.admin(account)
      const device = await world.device(account, { sip: { username: 'desk', password: 'first-secret' } })
      await telephone(account, 'desk')
      await telephone(account, 'desk', 1)
      const registered = async () => {
        const rows = (await admin.get(`${account.path}/devices`, { query: { with_status: 'true' } })).data
        return (rows as unknown as Json[])[0]?.registered
      }
      expect(await registered()).toBe(true)
      expect(await admin.patch(device.path, { sip: { password: 'second-secret' } })).toSucceed()
      await eventually(registered, (is) => is === false)
    })

    it('of an edge that is gone are not known, and are again when it is back', async () => {
      const account = await world.account(world.reseller)
      const admin = await world.admin(account)
      await world.device(account, { sip: { username: 'desk' } })
      await telephone(account, 'desk')
      const gone = edges[1] as Kamailio
      await gone.kill()
      const list = await admin.get(`${account.path}/registrations`)
      expect(list.data).toHaveLength(1)
      expect(list.body.metadata).toEqual({ unreachable: [`127.0.0.1:${gone.port}`] })
      await gone.start()
      await eventually(
        async () => (await admin.get(`${account.path}/registrations`)).body.metadata,
        (metadata) => JSON.stringify(metadata) === '{}',
      )
    })
  })
})
