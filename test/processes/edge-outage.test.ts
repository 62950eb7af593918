// Debian's Kamailio with the configuration that is shipped, while the server is away: its cached answers are
// valid for a while.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { headerOf, outcomeOf } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { edgeOf, makeAccount, makePhone, openSipPlace, tellEdge } from '../support/phones/sip-place.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'
import { lacksKamailio, startSipEdge } from '../support/servers/sip-edge.ts'
import { deviceOf, passwordOf } from '../support/servers/sip-server.ts'

describe.skipIf(lacksKamailio)(`a cached answer at an edge${lacksKamailio}`, () => {
  const town = useSipTown({ OUTAGE_S: 600 })

  const asked = (username: string) =>
    town.server.to('/v2/edge').filter(({ form }) => form.get('username') === username).length

  it('is asked again when the time is over that the server has said', async () => {
    const { phone, username } = await town.newPhone('ada')
    for (let turn = 0; turn < 5; turn += 1) expect((await phone.register()).status).toBe(200)
    expect(asked(username)).toBe(1)
    town.server.mayBeKept(1)
    const brief = await town.newPhone('bob')
    const again = await eventually(
      async () => {
        expect((await brief.phone.register()).status).toBe(200)
        return asked(brief.username)
      },
      (times) => times > 1,
    )
    expect(again).toBeGreaterThan(1)
    expect(asked(username)).toBe(1)
    town.server.mayBeKept(60)
  })

  it('of carriers is asked again then, too', async () => {
    const bob = await town.newPhone('bob')
    const number = '+14155550001'
    town.server.rings(number, [bob.username], realm)
    town.server.carriers.set(number, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    const carrier = await openPhone({
      edgePort: town.edge.port,
      realm: 'carrier.invalid',
      username: '+49301234',
    })
    town.keep(carrier)
    const times = () => town.server.to('/v2/edge/carrier').length
    const call = async () => {
      const before = bob.phone.received.filter(({ method }) => method === 'INVITE').length
      const calling = carrier.call(number)
      const invite = await bob.phone.comesIn('INVITE', before + 1)
      bob.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `b${before}`)
      expect((await calling).status).toBe(486)
      return times()
    }
    expect([await call(), await call()]).toEqual([1, 1])
    town.server.mayBeKept(1)
    await town.edge.outdate('*', 1)
    expect(await call()).toBe(2)
    expect(await eventually(call, (count) => count > 2)).toBe(3)
    town.server.mayBeKept(60)
  })

  it('rings on while the server is away, over carriers for emergencies alone', async () => {
    town.server.mayBeKept(1)
    const [ada, bob, carrier] = [
      await town.newPhone('ada'),
      await town.newPhone('bob'),
      await town.newPhone('x'),
    ]
    const device = {
      type: 'device',
      device_id: deviceOf(bob.username),
      username: bob.username,
      realm,
      delay_s: 0,
      timeout_s: 20,
    }
    const gateway = {
      type: 'gateway',
      resource_id: 'd'.repeat(32),
      uri: `sip:127.0.0.1:${carrier.phone.port}`,
      number: '112',
      delay_s: 0,
      timeout_s: 20,
    }
    town.server.rings('100', [], realm, { targets: [device] })
    town.server.rings('200', [], realm, { targets: [device, gateway] })
    town.server.rings('300', [], realm, { decision: 'offnet', targets: [gateway] })
    town.server.rings('112', [], realm, { decision: 'offnet', emergency: true, targets: [gateway] })
    let tags = 0
    const busy = '486 Busy Here'
    const away = '503 Service Unavailable'
    const invitesAt = ({ received }: Phone) => received.filter(({ method }) => method === 'INVITE')
    /** Calls a number whose phones all respond that they are busy, one after the other. */
    const outcome = async (number: string, ...called: readonly Phone[]) => {
      const calling = ada.phone.call(number)
      for (const phone of called) {
        tags += 1
        const rung = rings.get(phone) ?? 0
        rings.set(phone, rung + 1)
        const invite = await phone.comesIn('INVITE', rung + 1)
        phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `tag${tags}`)
      }
      return outcomeOf(await calling)
    }
    const rings = new Map<Phone, number>()
    expect(await outcome('100', bob.phone)).toBe(busy)
    expect(await outcome('200', bob.phone, carrier.phone)).toBe(busy)
    expect(await outcome('300', carrier.phone)).toBe(busy)
    expect(await outcome('112', carrier.phone)).toBe(busy)

    town.server.goAway()
    expect(await outcome('100', bob.phone)).toBe(busy)
    expect(await outcome('200', bob.phone)).toBe(busy)
    expect(await outcome('300')).toBe(away)
    expect(await outcome('400')).toBe(away)
    expect(invitesAt(carrier.phone)).toHaveLength(3)
    expect(await outcome('112', carrier.phone)).toBe(busy)
    // As after a restart of the server, and after a change in the realm.
    await town.edge.outdate('*', 1000)
    await town.edge.outdate(realm, 1000)
    expect(await outcome('100', bob.phone)).toBe(busy)
    expect(await outcome('112', carrier.phone)).toBe(busy)

    town.server.comeBack()
    town.server.mayBeKept(60)
    // The edge asks again after a rest.
    const username = 'stranger'
    const facts = { edgePort: town.edge.port, realm, username, password: passwordOf(username) }
    const stranger = town.keep(await openPhone(facts))
    await eventually(
      () => stranger.register().then(outcomeOf),
      (answer) => answer === '200 OK',
    )
  })
})

describe.skipIf(lacksKamailio)(`callers who have no device, while the server is away${lacksKamailio}`, () => {
  const town = useSipTown({ OUTAGE_S: 600 })

  afterEach(async () => {
    town.server.comeBack()
    town.server.mayBeKept(60)
    // The edge finds out that the server is back.
    await eventually(
      () => town.server.to('/v2/edge').some(({ form }) => form.get('realm') === 'server.invalid'),
      Boolean,
    )
  })

  it('are servers of a trunk that have called before from the same address', async () => {
    const [bob, username] = [await town.newPhone('bob'), 'pbx']
    const trunk_id = '7'.repeat(32)
    town.server.mayBeKept(1)
    town.server.senders.set(username, { trunk_id, server: 'PBX', method: 'ip' })
    town.server.rings('100', [bob.username], realm)
    const pbx = town.keep(
      await openPhone({ edgePort: town.edge.port, realm, username, address: '127.0.0.31' }),
    )
    let rung = 0
    const outcome = async () => {
      const calling = pbx.call('100')
      rung += 1
      const invited = bob.phone.comesIn('INVITE', rung)
      const invite = await Promise.race([invited, calling.then(() => undefined)])
      if (invite) bob.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `bobs${rung}`)
      return outcomeOf(await calling)
    }
    // All changes of records have one order.
    await town.edge.outdate(realm, 50)
    expect(await outcome()).toBe('486 Busy Here')
    town.server.goAway()
    await town.edge.outdate('*', 60)
    expect(await outcome()).toBe('486 Busy Here')
    // A change before the last answer.
    await town.edge.outdate(`record/${trunk_id}`, 40)
    expect(await outcome()).toBe('486 Busy Here')
    await town.edge.outdate(`record/${trunk_id}`, 70)
    expect(outcomeOf(await pbx.call('100'))).toBe('503 Service Unavailable')
  })

  it('are carriers that have called before, whose callers are shown', async () => {
    const bob = await town.newPhone('bob')
    const number = town.newNumber()
    town.server.mayBeKept(1)
    town.server.carriers.set(number, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    town.server.rings(number, [bob.username], realm, { caller_id: { name: 'Ada', number: '1' } })
    const facts = { edgePort: town.edge.port, realm: 'carrier.invalid', address: '127.0.0.32' }
    const carrier = town.keep(await openPhone({ ...facts, username: '+49301234' }))
    let rung = 0
    const outcome = async (more: Parameters<typeof carrier.call>[1] = {}) => {
      const calling = carrier.call(number, more)
      rung += 1
      const invited = bob.phone.comesIn('INVITE', rung)
      const invite = await Promise.race([invited, calling.then(() => undefined)])
      if (invite) bob.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `bobs${rung}`)
      return outcomeOf(await calling)
    }
    const routes = async () => {
      const { body } = await town.edge.rpc('htable.stats')
      return body.result.find(({ name }: { name: string }) => name === 'routes').all
    }
    expect(await outcome()).toBe('486 Busy Here')
    const kept = await routes()
    // The edge keeps one answer for all callers of a number.
    for (const from of ['+49301111', '+49302222']) expect(await outcome({ from })).toBe('486 Busy Here')
    expect(await routes()).toBe(kept)
    town.server.goAway()
    // As after a restart of the server.
    await town.edge.outdate('*', 200)
    expect(await outcome()).toBe('486 Busy Here')
    const from = '+49305678'
    expect(await outcome({ from })).toBe('486 Busy Here')
    expect(headerOf(await bob.phone.comesIn('INVITE', rung), 'from')).toMatch(/^"" ?<sip:\+49305678@/)
    expect(await outcome({ from, headers: [['Privacy', 'id']] })).toBe('486 Busy Here')
    expect(headerOf(await bob.phone.comesIn('INVITE', rung), 'from')).toMatch(/^"Anonymous" ?<sip:anonymous@/)
  })
})

describe.skipIf(lacksKamailio)(`a device that dials many numbers${lacksKamailio}`, () => {
  const town = useSipTown({ ROUTES_PER_SENDER: 2 })

  it('reaches only the first ROUTES_PER_SENDER of them while the server is away, and the edge stores no others', async () => {
    town.server.mayBeKept(1)
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const numbers = ['101', '102', '103', '104']
    for (const number of numbers) town.server.rings(number, [bob.username], realm)
    let rung = 0
    const outcome = async (number: string) => {
      const calling = ada.phone.call(number)
      rung += 1
      const invited = bob.phone.comesIn('INVITE', rung)
      const invite = await Promise.race([invited, calling.then(() => undefined)])
      if (invite) bob.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `bobs${rung}`)
      else rung -= 1
      return outcomeOf(await calling)
    }
    const stored = async () => {
      const { body } = await town.edge.rpc('htable.stats')
      return body.result.find(({ name }: { name: string }) => name === 'routes').all
    }
    for (const number of numbers.slice(0, 2)) expect(await outcome(number)).toBe('486 Busy Here')
    const before = await stored()
    for (const number of numbers) expect(await outcome(number)).toBe('486 Busy Here')
    expect(await stored()).toBe(before)
    town.server.goAway()
    const outcomes = []
    for (const number of numbers) outcomes.push(await outcome(number))
    expect(outcomes).toEqual([
      '486 Busy Here',
      '486 Busy Here',
      '503 Service Unavailable',
      '503 Service Unavailable',
    ])
  })
})

describe.skipIf(lacksKamailio)(`an old cached answer at an edge${lacksKamailio}`, () => {
  const town = useSipTown({ OUTAGE_S: 2 })

  it('rings no phone until the server is back', async () => {
    town.server.mayBeKept(1)
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    town.server.rings('100', [bob.username], realm)
    town.server.rings('112', [bob.username], realm, { emergency: true })
    let rung = 0
    const outcome = async (number: string) => {
      const calling = ada.phone.call(number)
      rung += 1
      const invite = await bob.phone.comesIn('INVITE', rung)
      bob.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `tag${rung}`)
      return outcomeOf(await calling)
    }
    const registers = (outcome: string) =>
      eventually(
        () => ada.phone.register().then(outcomeOf),
        (found) => found === outcome,
      )
    expect([await outcome('100'), await outcome('112')]).toEqual(['486 Busy Here', '486 Busy Here'])
    // In the meantime the registration of another phone becomes older than the time that the edge accepts it
    // without the server.
    const quiet = await town.newPhone('quiet')
    const asked = () => town.server.to('/v2/edge').filter(({ form }) => form.get('username') === ada.username)
    const before = asked().length
    await eventually(
      async () => (await ada.phone.register()) && asked().length - before,
      (times) => times > 3,
    )
    town.server.goAway()
    expect(outcomeOf(await quiet.phone.register())).toBe('200 OK')
    await registers('503 Service Unavailable')
    for (const number of ['100', '112']) {
      const final = await ada.phone.call(number)
      expect(outcomeOf(final)).toBe('503 Service Unavailable')
      expect(Number(headerOf(final, 'retry-after'))).toBeGreaterThan(0)
    }
    town.server.comeBack()
    // The edge detects that the server is back, also without requests of phones.
    await eventually(
      () => town.server.to('/v2/edge').some(({ form }) => form.get('realm') === 'server.invalid'),
      Boolean,
    )
    await registers('200 OK')
    expect(await outcome('100')).toBe('486 Busy Here')
  })
})

it.skipIf(lacksKamailio)(
  `an edge forgets changed records a minute after the last answer that they make void${lacksKamailio}`,
  async () => {
    const id = '7'.repeat(32)
    const edge = await startSipEdge({
      server: 'http://127.0.0.1:9',
      key: 'none',
      values: { OUTAGE_S: 600, REGISTRATION_MAX_S: 3000 },
    })
    onTestFinished(() => edge.end())
    await edge.stop('SIGTERM')
    const found = `$sht(generations=>record/${id}) $sht(records=>record/${id}) $shtex(records=>record/${id})`
    const look = [
      'modparam("rtimer", "timer", "name=looks;interval=200000u;mode=1;")',
      'modparam("rtimer", "exec", "timer=looks;route=LOOK")',
      `route[LOOK] { xlog("L_WARN", "kept: ${found}\\n"); }`,
    ]
    appendFileSync(join(edge.folder, 'rpc.cfg'), look.join('\n'))
    await edge.start()
    expect(await edge.outdate(`record/${id}`, 70)).toMatchObject({ status: 200, body: { id: 1 } })
    const kept = await eventually(
      () => /kept: (\d+) 70 (\d+)/.exec(edge.log()),
      (line) => line !== null,
    )
    expect(kept?.[1]).toBe('0')
    expect(Number(kept?.[2])).toBeGreaterThan(3600)
    expect(Number(kept?.[2])).toBeLessThanOrEqual(3660)
  },
)

it.skipIf(lacksKamailio)(
  `a phone keeps working when the server restarts and stops again${lacksKamailio}`,
  { timeout: 300_000 },
  async () => {
    const place = await openSipPlace()
    const edge = await edgeOf(place)
    const phones: Phone[] = []
    let server = place.server
    onTestFinished(async () => {
      for (const phone of phones) phone.close()
      await edge.end()
      place.session.close()
      await server.end()
      removeDataDir(server)
    })
    /** The server has sent its first notification: all answers are stale. */
    const isTold = () =>
      eventually(
        async () => (await fetch(`${server.url}/metrics`)).text(),
        (metrics) => metrics.includes('crosspoint_sip_edges{state="reached"} 1'),
      )
    const account = await makeAccount(place)
    const { phone, device } = await makePhone(place, edge, account, { username: 'ada' })
    phones.push(phone)
    // A change before the registration is in the answer.
    expect(await place.session.admin.patch(device.path, { sip: { expire_seconds: 600 } })).toSucceed()
    await tellEdge(place, edge)
    await isTold()
    const states = await place.session.admin.get('/v2/edge/states')
    expect(states.data).toEqual([
      {
        host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        reachable: true,
        current: true,
        version: expect.stringContaining('kamailio'),
        uptime_s: expect.any(Number),
        calls: 0,
      },
    ])
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    // A change of the account, and then the end of another phone's registration, are in the next answer.
    const { admin } = place.session
    const other = await makePhone(place, edge, account, { username: 'bob' })
    phones.push(other.phone)
    expect(outcomeOf(await other.phone.register())).toBe('200 OK')
    for (const [cidr, outcome] of [
      ['10.0.0.0/8', '403 Forbidden'],
      ['127.0.0.0/8', '200 OK'],
    ]) {
      const lists = { order: 'allow,deny', cidrs: [cidr] }
      expect(await admin.post(`${account.path}/access_lists`, lists)).toSucceed()
      await eventually(
        () => phone.register().then(outcomeOf),
        (found) => found === outcome,
      )
    }
    expect(await admin.delete(`${account.path}/registrations/bob`)).toSucceed()
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    const { port, dataDir } = server
    await server.end()
    server = await startServerProcess({ CROSSPOINT_PORT: String(port) }, dataDir)
    await isTold()
    await server.end()
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    expect(edge.complaints()).toEqual([])
  },
)
