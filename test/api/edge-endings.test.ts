// When a device, a user, a trunk or an account is disabled or removed, the edges end its registrations at once
// and its calls later.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type EdgeServer, startEdgeServer } from '../support/servers/edge-server.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('at an edge', (engine) => {
  const world = useWorld(engine)
  let edge: EdgeServer
  let dialogs: { accounts: unknown[]; dialog: Json }[] = []

  const useEdges = (...rpc_urls: string[]) =>
    world.configure('switch', {
      adapter: 'kamailio',
      kamailio: { rpc_urls, timeout_ms: 30_000 },
      disabled_grace_s: 30,
    })

  beforeAll(async () => {
    edge = await startEdgeServer({
      'dlg.profile_list': (_profile, accountId) =>
        dialogs.filter((one) => one.accounts.includes(accountId)).map(({ dialog }) => dialog),
      'dlg.end_dlg': () => ({}),
      'tm.cancel': () => ({}),
    })
  })
  afterAll(() => edge.close())

  let requests: EdgeServer['calls'] = []

  /** Runs the jobs that are due. The server runs them in the background, too: `requests` has all since the last time. */
  const due = async (kind: 'ended_registrations' | 'ended_calls') => {
    await world.server.scheduler.runNow(kind)
    requests = edge.calls.splice(0)
  }

  const told = (method: string): unknown[][] =>
    requests.filter(({ json }) => json.method === method).map(({ json }) => json.params)

  /** Registrations that have ended since the last time. */
  const ended = async () => {
    await due('ended_registrations')
    return told('ul.rm').map(([, place]) => place)
  }

  // Jobs of earlier tests end here.
  beforeEach(async () => {
    dialogs = []
    await useEdges(edge.url)
    world.clock.advance({ seconds: 40 })
    await due('ended_registrations')
    await due('ended_calls')
  })

  const sip = { username: 'desk', password: 'first-secret' }

  const place = async (above: TestAccount = world.reseller) => {
    const account = await world.account(above)
    const user = await world.user(account)
    const device = await world.device(account, { owner_id: user.id, sip })
    return { account, user, device, registered: `desk@${account.realm}` }
  }

  type Made = Awaited<ReturnType<typeof place>>

  const pbx = (fields: Json = {}, auth_password = 'one') => ({
    servers: [{ auth: { auth_user: 'pbx', auth_password }, options: fields }],
  })

  it('registrations of a device end with what they were made with, and stay with anything else', async () => {
    const { device, registered } = await place()
    const changes: [Json, string[]][] = [
      [{ name: 'Renamed', sip: { transport: 'tcp' } }, []],
      [{ sip: { password: 'second-secret' } }, [registered]],
      [{ sip: { username: 'table' } }, [registered]],
      [{ sip: { username: 'desk' } }, [registered.replace('desk', 'table')]],
      [{ sip: { realm: 'own.test' } }, []],
      [{ enabled: false }, ['desk@own.test']],
      [{ enabled: true, sip: { realm: null } }, ['desk@own.test']],
      [{ owner_id: null }, [registered]],
    ]
    for (const [change, gone] of changes) {
      expect(await world.operator.patch(device.path, change)).toSucceed()
      expect([change, await ended()]).toEqual([change, gone])
    }
    expect(await world.operator.delete(device.path)).toSucceed()
    expect(await ended()).toEqual([registered])
  })

  it('registrations end of all devices of a disabled user, and of all devices and trunks of and below a disabled account', async () => {
    const { account, user, registered } = await place()
    const below = await place(account)
    const other = await world.device(account, { sip: { username: 'other' } })
    expect(await world.operator.put(`${below.account.path}/connectivity`, pbx())).toMatchObject({
      status: 201,
    })
    expect(await world.operator.patch(user.path, { enabled: false })).toSucceed()
    expect(await ended()).toEqual([registered])
    expect(await world.operator.patch(user.path, { enabled: true })).toSucceed()
    expect(await world.operator.delete(other.path)).toSucceed()
    await ended()
    expect(await world.operator.patch(account.path, { enabled: false })).toSucceed()
    expect(new Set(await ended())).toEqual(
      new Set([registered, below.registered, `pbx@${below.account.realm}`]),
    )
  })

  it('registrations of trunks end with their credentials, and with everything of a removed account', async () => {
    const { account, registered } = await place()
    const made = await world.operator.put(`${account.path}/connectivity`, pbx())
    const path = `${account.path}/connectivity/${made.data.id}`
    const server = `pbx@${account.realm}`
    const changes: [Json, string[]][] = [
      [{ name: 'Renamed' }, []],
      [pbx({}, 'two'), [server]],
      [pbx({ enabled: false }, 'two'), [server]],
      [pbx({ enabled: true }, 'two'), []],
    ]
    for (const [change, gone] of changes) {
      expect(await world.operator.patch(path, change)).toSucceed()
      expect([change, await ended()]).toEqual([change, gone])
    }
    expect(await world.operator.delete(account.path)).toSucceed()
    expect(new Set(await ended())).toEqual(new Set([server, registered]))
  })

  it('the realm is stale before a registration ends, and an edge that did not answer is asked again', async () => {
    const { account, device, registered } = await place()
    edge.hangUp()
    expect(await world.operator.patch(device.path, { enabled: false })).toSucceed()
    await ended()
    edge.speak()
    expect(await ended()).toEqual([])
    world.clock.advance({ seconds: 2 })
    expect(await ended()).toEqual([registered])
    const asked = requests.map(({ json }) => [json.method, json.params[1]])
    expect(asked.filter(([, name]) => String(name).endsWith(account.realm))).toEqual([
      ['htable.seti', `ended/${account.realm}`],
      ['ul.rm', registered],
    ])
    expect(await ended()).toEqual([])
  })

  let calls = 0

  interface Sides {
    from?: Made
    to?: Made
    more?: Json
    state?: number
  }

  /** A carrier call, unless it is from a device, with the variables that the edge stores. */
  const call = ({ from, to, more = {}, state = 4 }: Sides) => {
    calls += 1
    const owner = from ?? to
    const variables = {
      account_id: owner?.account.id,
      authorizing_id: from?.device.id ?? '',
      authorizing_type: 'device',
      leg: to ? `device|${to.device.id}|${to.user.id}|desk|${to.account.id}` : 'gateway|x|1|+1|',
      ...more,
    }
    const dialog = {
      'call-id': `call-${calls}`,
      state,
      h_entry: calls,
      h_id: 1,
      caller: { tag: 'a', cseq: '1' },
      callee: { tag: 'b' },
      variables: Object.entries(variables).map(([name, value]) => ({ [name]: value })),
    }
    dialogs.push({ accounts: [from?.account.id, to?.account.id], dialog })
    return calls
  }

  /** The calls that end by the next look. */
  const hungUp = async () => {
    await due('ended_calls')
    return told('dlg.end_dlg').map(([entry]) => entry)
  }

  it('an edge that has answered is not asked again for another one that did not, and repeated changes are one piece of work', async () => {
    await useEdges(edge.url, 'http://127.0.0.1:9/RPC')
    const { account, device, registered } = await place()
    for (const enabled of [false, true, false, true])
      expect(await world.operator.patch(device.path, { enabled })).toSucceed()
    // A change during the request repeats it.
    expect(new Set(await ended())).toEqual(new Set([registered]))
    world.clock.advance({ seconds: 5000 })
    expect(await ended()).toEqual([])
    const waiting = await world.server.store.all(
      "SELECT outcome FROM work WHERE kind = 'ended_registrations' AND account_id = $1",
      [account.id],
    )
    expect(waiting).toEqual([{ outcome: 'no answer: 127.0.0.1:9' }])
    await useEdges(edge.url)
    world.clock.advance({ seconds: 10_000 })
    expect(await ended()).toEqual([])
  })

  it('calls of a disabled device end after the grace period, on either side of the call, and others continue', async () => {
    const [ada, bob] = [await place(), await place()]
    const calling = call({ from: ada })
    const called = call({ from: bob, to: ada })
    call({ from: bob })
    call({ from: bob, to: ada, state: 2 })
    call({ from: ada, more: { emergency: '1' } })
    expect(await world.operator.patch(ada.device.path, { enabled: false })).toSucceed()
    expect(await hungUp()).toEqual([])
    world.clock.advance({ seconds: 29 })
    expect(await hungUp()).toEqual([])
    world.clock.advance({ seconds: 1 })
    expect(await hungUp()).toEqual([calling, called])
    expect(await hungUp()).toEqual([])
  })

  it('calls of a device that is enabled again in time continue', async () => {
    const ada = await place()
    call({ from: ada })
    expect(await world.operator.patch(ada.device.path, { enabled: false })).toSucceed()
    expect(await world.operator.patch(ada.device.path, { enabled: true })).toSucceed()
    world.clock.advance({ seconds: 30 })
    expect(await hungUp()).toEqual([])
  })

  it('calls end with the user, the trunk, the account, the account above, and with the record', async () => {
    const above = await place()
    const ends: ((made: Made) => Promise<unknown>)[] = [
      ({ user }) => world.operator.patch(user.path, { enabled: false }),
      ({ device }) => world.operator.delete(device.path),
      ({ account }) => world.operator.patch(account.path, { enabled: false }),
      ({ account }) => world.operator.delete(account.path),
    ]
    for (const end of ends) {
      dialogs = []
      const made = await place(above.account)
      const calling = call({ from: made })
      expect(await end(made)).toSucceed()
      world.clock.advance({ seconds: 30 })
      // Whatever goes with it asks for the same.
      expect(new Set(await hungUp())).toEqual(new Set([calling]))
    }
    dialogs = []
    const below = await place(above.account)
    const trunk = await world.operator.put(`${below.account.path}/connectivity`, pbx())
    const over = { authorizing_type: 'trunk', authorizing_id: trunk.data.id }
    const calling = call({ from: below, more: over })
    expect(
      await world.operator.patch(
        `${below.account.path}/connectivity/${trunk.data.id}`,
        pbx({ enabled: false }),
      ),
    ).toSucceed()
    world.clock.advance({ seconds: 30 })
    expect(await hungUp()).toEqual([calling])
    dialogs = []
    const last = call({ from: below })
    expect(await world.operator.patch(above.account.path, { enabled: false })).toSucceed()
    world.clock.advance({ seconds: 30 })
    expect(await hungUp()).toEqual([last])
  })

  /** Trunks of a new account, and calls to and from their servers as the edge describes them. */
  const trunks = async (servers: Json[]) => {
    const made = await place()
    const { data } = await world.operator.put(`${made.account.path}/connectivity`, { servers })
    const path = `${made.account.path}/connectivity/${data.id}`
    return {
      replace: (left: Json[]) => world.operator.post(path, { ...data, servers: left }),
      disable: () =>
        world.operator.patch(path, {
          servers: servers.map((one) => ({ ...one, options: { enabled: false } })),
        }),
      remove: () => world.operator.delete(path),
      /** `leg`: server, user name and request URI. */
      to: (...leg: [server: string, username: string, request: string]) => {
        const [server, username, request] = leg
        const { id } = made.account
        return call({ to: made, more: { leg: `trunk|${data.id}|${server}|${username}|${id}|${request}` } })
      },
      from: (username: string, place: string) => {
        const caller = { caller_username: username, caller_at: place }
        return call({ from: made, more: { authorizing_type: 'trunk', authorizing_id: data.id, ...caller } })
      },
    }
  }

  const named = (auth_user: string, server_name = '') => ({
    server_name,
    auth: { auth_user, auth_password: 'one' },
  })
  const addressed = (ip: string, server_name = '') => ({ server_name, auth: { auth_method: 'IP', ip } })

  it('calls of a removed server end, and those of the other servers of the trunks continue', async () => {
    const made = await trunks([
      named('first'),
      named('Second|'),
      addressed('192.0.2.81'),
      addressed('2001:db8::82'),
      addressed('192.0.2.83', 'a|b'),
      addressed('192.0.2.84', 'c|d'),
    ])
    const gone = [
      made.to('0', 'first', 'sip:first@x.test'),
      made.from('first', 'sip:198.51.100.1:5060'),
      made.to('2', '', 'sip:+49301@192.0.2.81:5070'),
      made.from('anything', 'sip:192.0.2.81:5060'),
      made.to('cd', '', 'sip:+49301@192.0.2.84'),
    ]
    made.to('1', 'second', 'sip:second@x.test')
    made.from('second', 'sip:198.51.100.1:5060')
    made.to('3', '', 'sip:+49301@[2001:db8::82]')
    made.from('anything', 'sip:[2001:DB8:0:0:0:0:0:82]:5060;transport=tcp')
    made.to('ab', '', 'sip:+49301@moved.test')
    expect(
      await made.replace([named('Second|'), addressed('2001:db8::82'), addressed('192.0.2.83', 'a|b')]),
    ).toSucceed()
    world.clock.advance({ seconds: 30 })
    expect(await hungUp()).toEqual(gone)
  })

  it('calls of a server that is known by its address end when it is disabled, removed or has another address', async () => {
    type Made = Awaited<ReturnType<typeof trunks>>
    const ends: [end: (made: Made, ip: string) => Promise<unknown>, isEnding: boolean][] = [
      [({ disable }) => disable(), true],
      [({ remove }) => remove(), true],
      [({ replace }) => replace([]), true],
      [({ replace }) => replace([addressed('192.0.2.99')]), true],
      [({ replace }, ip) => replace([addressed(ip, 'Renamed')]), false],
    ]
    for (const [index, [end, isEnding]] of ends.entries()) {
      dialogs = []
      const ip = `192.0.2.9${index}`
      const made = await trunks([addressed(ip)])
      const both = [made.to('0', '', `sip:+49301@${ip}`), made.from('anything', `sip:${ip}:5060`)]
      expect(await end(made, ip)).toSucceed()
      world.clock.advance({ seconds: 30 })
      expect([index, await hungUp()]).toEqual([index, isEnding ? both : []])
    }
  })

  it('an edge that does not answer is asked once while calls and registrations of many accounts end', async () => {
    const silent = await startEdgeServer()
    silent.hangUp()
    await useEdges(silent.url, edge.url)
    const above = await place()
    const below = [await place(above.account), await place(above.account), await place(above.account)]
    const all = [above, ...below]
    const begun = all.map((from) => call({ from }))
    expect(await world.operator.patch(above.account.path, { enabled: false })).toSucceed()
    expect(new Set(await ended())).toEqual(new Set(all.map(({ registered }) => registered)))
    // Changes of records notify the edges, too, with positive generations.
    const outdated = silent.told('htable.seti').filter(([, name]) => String(name).startsWith('ended/'))
    expect(new Set(outdated.map(([, realm]) => realm)).size).toBe(1)
    world.clock.advance({ seconds: 30 })
    expect(new Set(await hungUp())).toEqual(new Set(begun))
    expect(new Set(silent.told('dlg.profile_list').map(([, accountId]) => accountId)).size).toBe(1)
    silent.speak()
    silent.says('dlg.profile_list', () => [])
    silent.calls.length = 0
    world.clock.advance({ seconds: 2 })
    await due('ended_calls')
    const asked = silent.told('dlg.profile_list').map(([, accountId]) => accountId)
    expect(new Set(asked)).toEqual(new Set(all.map(({ account }) => account.id)))
    await due('ended_registrations')
    await silent.close()
  })

  it('many devices of an account that are disabled together have the calls of the account listed once', async () => {
    const { account } = await place()
    const made = await Promise.all(
      Array.from({ length: 5 }, (_, at) => world.device(account, { name: `Desk ${at}` })),
    )
    for (const { path } of made) expect(await world.operator.patch(path, { enabled: false })).toSucceed()
    world.clock.advance({ seconds: 30 })
    await hungUp()
    expect(told('dlg.profile_list')).toEqual([['account', account.id]])
  })

  it('accounts below are included if a device is disabled in the same second as the account', async () => {
    const above = await place()
    const below = await place(above.account)
    const begun = [call({ from: above }), call({ from: below })]
    expect(await world.operator.patch(above.account.path, { enabled: false })).toSucceed()
    expect(await world.operator.patch(above.device.path, { enabled: false })).toSucceed()
    world.clock.advance({ seconds: 30 })
    expect(new Set(await hungUp())).toEqual(new Set(begun))
  })
})
