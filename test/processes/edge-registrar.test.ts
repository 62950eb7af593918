// Registrations at Debian's Kamailio with the configuration that is shipped and a real server: every packet is
// real.
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { headerOf, headersOf, outcomeOf } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  edgeOf,
  makeAccount,
  makeDevice,
  makePhone,
  openSipPlace,
  type SipPlace,
  tellEdge,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { lacksKamailio, type SipEdge, startSipEdge } from '../support/servers/sip-edge.ts'

describe.skipIf(lacksKamailio)(`a registration at an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  const phones: Phone[] = []

  beforeAll(async () => {
    place = await openSipPlace()
    edge = await edgeOf(place)
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  // Kamailio complains about a request with a doubled key, which one of the tests sends.
  afterEach(() => expect(edge.complaints().filter((line) => !line.includes('jansson'))).toEqual([]))

  const keep = <T extends { phone: Phone }>(made: T) => {
    phones.push(made.phone)
    return made
  }

  const newPhone = async (
    account: Awaited<ReturnType<typeof makeAccount>>,
    username: string,
    more: Partial<Parameters<typeof openPhone>[0]> = {},
  ) => keep(await makePhone(place, edge, account, { username, ...more }))

  const further = async (facts: Parameters<typeof openPhone>[0]) => {
    const phone = await openPhone(facts)
    phones.push(phone)
    return phone
  }

  const registered = async (username: string, realm: string) => {
    const { body } = await edge.rpc('ul.lookup', ['location', `${username}@${realm}`])
    return (body.result?.Contacts ?? []).map(
      ({
        Contact,
      }: {
        Contact: { Address: string; Received: string; 'User-Agent': string; Expires: number }
      }) => [Contact.Address, Contact['User-Agent']],
    )
  }

  it('is taken from two devices that were made over the API, and ends when they say so', async () => {
    const account = await makeAccount(place)
    const { phone: bob } = await newPhone(account, 'bob')
    const { phone: eve } = await newPhone(account, 'eve', { userAgent: 'Snom 370' })
    expect(outcomeOf(await bob.register())).toBe('200 OK')
    expect(outcomeOf(await eve.register())).toBe('200 OK')
    expect(await registered('bob', account.realm)).toEqual([[`sip:bob@127.0.0.1:${bob.port}`, 'Tester 1.0']])
    expect(await registered('eve', account.realm)).toEqual([[`sip:eve@127.0.0.1:${eve.port}`, 'Snom 370']])
    expect(outcomeOf(await bob.register(0))).toBe('200 OK')
    expect(await registered('bob', account.realm)).toEqual([])
  })

  it('lasts no longer than the record of the device says, and no shorter than the edge bears', async () => {
    const account = await makeAccount(place)
    const { phone, device } = await newPhone(account, 'bob')
    const { admin } = place.session
    expect(await admin.patch(device.path, { sip: { expire_seconds: 90 } })).toSucceed()
    const granted = await phone.register(3600)
    expect(headersOf(granted, 'contact')).toEqual([`<sip:bob@127.0.0.1:${phone.port}>;expires=90`])
    const sooner = await phone.register(60)
    expect(headersOf(sooner, 'contact')).toEqual([`<sip:bob@127.0.0.1:${phone.port}>;expires=60`])
    const tooShort = await phone.register(5)
    expect([outcomeOf(tooShort), headerOf(tooShort, 'min-expires')]).toEqual(['423 Interval Too Brief', '30'])
    const unsaid = await phone.registerAs({})
    expect(headersOf(unsaid, 'contact')).toEqual([`<sip:bob@127.0.0.1:${phone.port}>;expires=90`])
    const brief = `${phone.contact};expires=5`
    expect(outcomeOf(await phone.registerAs({ contact: brief }))).toBe('423 Interval Too Brief')
    expect(outcomeOf(await phone.registerAs({ contact: `${phone.contact};expires=0` }))).toBe('200 OK')
  })

  it('is refused in the same words for a wrong password, an unknown user and an unknown realm', async () => {
    const account = await makeAccount(place)
    await makeDevice(place, account, 'bob')
    const says = async (realm: string, username: string) => {
      const phone = await further({ edgePort: edge.port, realm, username, password: 'guessed' })
      const final = await phone.register()
      const challenge = phone.received.map(outcomeOf)
      return [challenge, final.headers.map(([name]) => name)]
    }
    const wrong = await says(account.realm, 'bob')
    expect(wrong[0]).toEqual(['401 Unauthorized', '403 Forbidden'])
    expect(await says(account.realm, 'nobody')).toEqual(wrong)
    expect(await says('nowhere.example', 'bob')).toEqual(wrong)
    expect(await registered('bob', account.realm)).toEqual([])
  })

  it('is refused by access lists and for what is switched off, and the next packet follows what was changed', async () => {
    const { admin } = place.session
    const account = await makeAccount(place)
    const { phone, device } = await newPhone(account, 'bob', { userAgent: 'Yealink T46' })
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    let generation = 0
    const after = async (path: string, change: Record<string, unknown>) => {
      const changed = await (path.endsWith('access_lists')
        ? admin.post(path, change)
        : admin.patch(path, change))
      expect(changed).toSucceed()
      generation += 1
      expect((await edge.outdate(account.realm, generation)).status).toBe(200)
      return outcomeOf(await phone.register())
    }
    const lists = `${device.path}/access_lists`
    expect(await after(lists, { order: 'allow,deny', cidrs: ['10.0.0.0/8'] })).toBe('403 Forbidden')
    expect(await after(lists, { order: 'allow,deny', cidrs: ['127.0.0.0/8'], user_agent: '^Snom' })).toBe(
      '403 Forbidden',
    )
    expect(await after(lists, { order: 'allow,deny', cidrs: ['127.0.0.0/8'], user_agent: '^Yea' })).toBe(
      '200 OK',
    )
    expect(await after(device.path, { enabled: false })).toBe('403 Forbidden')
    expect(await after(device.path, { enabled: true })).toBe('200 OK')
    expect(await after(account.path, { enabled: false })).toBe('403 Forbidden')
  })

  it('is one too many above the limit of packets in a minute, for its device and address alone', async () => {
    const account = await makeAccount(place)
    const { phone, device } = await newPhone(account, 'bob')
    const { phone: eve } = await newPhone(account, 'eve')
    const limits = { per_minute: { registrations: 6 }, per_second: { registrations: 100 } }
    expect(await place.session.admin.post(`${device.path}/rate_limits`, limits)).toSucceed()
    const bare = await further({ edgePort: edge.port, realm: account.realm, username: 'bob' })
    const outcomes: string[] = []
    for (let packet = 1; packet <= 7; packet += 1) outcomes.push(outcomeOf(await bare.register()))
    // A new minute may begin in between: then the count restarts.
    if (!outcomes.includes('429 Too Many Requests'))
      for (let packet = 1; packet <= 7; packet += 1) outcomes.push(outcomeOf(await bare.register()))
    expect(outcomes.filter((one) => one === '429 Too Many Requests').length).toBeGreaterThan(0)
    expect(outcomes.slice(0, 5)).toEqual(Array(5).fill('401 Unauthorized'))
    const refused = bare.received.find(({ status }) => status === 429)
    expect(Number(refused && headerOf(refused, 'retry-after'))).toBeGreaterThan(0)
    expect(outcomeOf(await eve.register())).toBe('200 OK')
    const elsewhere = await further({
      edgePort: edge.port,
      realm: account.realm,
      username: 'bob',
      password: device.password,
      address: '127.0.0.9',
    })
    expect(outcomeOf(await elsewhere.register())).toBe('200 OK')
    phone.close()
    phones.splice(phones.indexOf(phone), 1)
  })

  it('is limited to a number of phones of one device', async () => {
    const account = await makeAccount(place)
    const { device, phone } = await newPhone(account, 'bob')
    const { admin } = place.session
    const many = { per_minute: { registrations: 1000 }, per_second: { registrations: 1000 } }
    expect(await admin.post(`${device.path}/rate_limits`, many)).toSucceed()
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    const again = { edgePort: edge.port, realm: account.realm, username: 'bob', password: device.password }
    for (let count = 2; count <= 5; count += 1)
      expect((await (await further(again)).register()).status).toBe(200)
    const refused = await (await further(again)).register()
    expect(outcomeOf(refused)).toBe('503 Too Many Registrations')
    expect(Number(headerOf(refused, 'retry-after'))).toBeGreaterThan(0)
    expect(await registered('bob', account.realm)).toHaveLength(5)
    expect(outcomeOf(await phone.register())).toBe('200 OK')
  })

  it('does not register another device', async () => {
    const account = await makeAccount(place)
    const { phone } = await newPhone(account, 'bob')
    await makeDevice(place, account, 'eve')
    const final = await phone.request({
      method: 'REGISTER',
      uri: `sip:${account.realm}`,
      to: `<sip:eve@${account.realm}>`,
    })
    expect(outcomeOf(final)).toBe('403 Forbidden')
    expect(await registered('eve', account.realm)).toEqual([])
  })

  /**
   * An edge whose connection to the server can be cut: answers are valid for one second, and for
   * `outageSeconds` without the server.
   */
  const cuttableEdge = async (outageSeconds: number) => {
    const way = await createCuttable(place.server.url)
    const values = { ANSWER_MAX_AGE_S: 1, OUTAGE_S: outageSeconds }
    const lonely = await startSipEdge({ server: way.url.replace(/\/$/, ''), key: place.key, values })
    onTestFinished(async () => {
      await lonely.end()
      await way.close()
    })
    return { way, lonely }
  }

  it('leaves what was refused for the server to hear, and no secret in the log', async () => {
    const { way, lonely } = await cuttableEdge(600)
    const account = await makeAccount(place)
    const { phone } = keep(await makePhone(place, lonely, account, { username: 'bob' }))
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    // While the server is away, what is left for it stays in the file.
    way.cut()
    const guess = await further({
      edgePort: lonely.port,
      realm: account.realm,
      username: 'bob',
      password: 'guess',
    })
    expect(outcomeOf(await guess.register())).toBe('403 Forbidden')
    const kept = () => lonely.kept('SELECT body FROM reports').map(({ body }) => JSON.parse(String(body)))
    const [told, ...others] = await eventually(kept, ({ length }) => length > 0)
    expect(others).toEqual([])
    expect(told).toEqual({
      realm: account.realm,
      username: 'bob',
      address: '127.0.0.1',
      user_agent: 'Tester 1.0',
      method: 'REGISTER',
      reason: 'wrong_password',
      sip_code: 403,
      at: expect.any(Number),
    })
    way.mend()
    await eventually(kept, ({ length }) => length === 0)
    for (const one of [edge, lonely]) {
      expect(one.log()).not.toContain(place.key)
      expect(one.log()).not.toContain('secret-of-the-tests')
    }
  })

  describe('while the server is away', () => {
    const isAway = '503 Service Unavailable'

    it('is taken from devices that have authenticated before, also when the edge was notified of changes', async () => {
      const { way, lonely } = await cuttableEdge(600)
      const account = await makeAccount(place)
      const { phone } = keep(await makePhone(place, lonely, account, { username: 'bob' }))
      const stranger = keep(await makePhone(place, lonely, account, { username: 'eve' }))
      expect(outcomeOf(await phone.register())).toBe('200 OK')
      way.cut()
      // Longer than an answer holds unasked: from here on it is taken for want of a better one.
      const keptOn = await eventually(
        () => phone.register().then(outcomeOf),
        () => lonely.log().includes('the server gives no answer'),
      )
      expect(keptOn).toBe('200 OK')
      const refused = await stranger.phone.register()
      expect(outcomeOf(refused)).toBe(isAway)
      expect(Number(headerOf(refused, 'retry-after'))).toBeGreaterThan(0)
      // As after a restart of the server, and after a change in the realm.
      await lonely.outdate('*', 1)
      await lonely.outdate(account.realm, 2)
      expect(outcomeOf(await phone.register())).toBe('200 OK')
    })

    it('is refused for a changed password, a disabled device and a disabled user, and taken from all others', async () => {
      const { way, lonely } = await cuttableEdge(600)
      await tellEdge(place, lonely)
      const account = await makeAccount(place)
      const { admin } = place.session
      const user = await admin.put(`${account.path}/users`, { first_name: 'Ada', last_name: 'Lovelace' })
      expect(user).toSucceed()
      const made = async (username: string, more = {}) =>
        keep(await makePhone(place, lonely, account, { username }, more))
      const [changed, disabled, owned, kept] = await Promise.all([
        made('changed'),
        made('disabled'),
        made('owned', { owner_id: user.data.id }),
        made('kept'),
      ])
      const all = () =>
        Promise.all(
          [changed, disabled, owned, kept].map(async ({ phone }) => outcomeOf(await phone.register())),
        )
      expect(await all()).toEqual(Array(4).fill('200 OK'))
      way.cut()
      expect(await admin.patch(changed.device.path, { sip: { password: 'another-secret' } })).toSucceed()
      expect(await admin.patch(disabled.device.path, { enabled: false })).toSucceed()
      expect(await admin.patch(`${account.path}/users/${user.data.id}`, { enabled: false })).toSucceed()
      await eventually(all, (outcomes) => outcomes.slice(0, 3).every((outcome) => outcome === isAway))
      expect(await all()).toEqual([isAway, isAway, isAway, '200 OK'])
      way.mend()
      await eventually(all, (outcomes) => outcomes.every((outcome) => outcome !== isAway))
      expect(await all()).toEqual(['403 Forbidden', '403 Forbidden', '403 Forbidden', '200 OK'])
    })

    it('is refused when that has lasted for a while, until the server is back', async () => {
      const { way, lonely } = await cuttableEdge(2)
      const account = await makeAccount(place)
      const { phone } = keep(await makePhone(place, lonely, account, { username: 'bob' }))
      expect(outcomeOf(await phone.register())).toBe('200 OK')
      way.cut()
      const comesTo = (outcome: string) =>
        eventually(
          () => phone.register().then(outcomeOf),
          (found) => found === outcome,
        )
      await comesTo('503 Service Unavailable')
      way.mend()
      await comesTo('200 OK')
    })
  })

  describe('asked of by the server', () => {
    const ask = (headers: Record<string, string>, body: unknown, path = '/RPC', port = edge.rpcPort) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }).then(
        ({ status }) => status,
      )
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
    const uptime = { jsonrpc: '2.0', id: 1, method: 'core.uptime', params: [] }

    it('is answered only with the secret, and at no other path', async () => {
      expect(await ask(bearer('secret-of-the-tests'), uptime)).toBe(200)
      expect(await ask({}, uptime)).toBe(401)
      expect(await ask(bearer('another-secret'), uptime)).toBe(401)
      expect(await ask(bearer('secret-of-the-tests'), uptime, '/other')).toBe(404)
    })

    it('does no more than the server needs', async () => {
      const call = (method: string, params: unknown[]) =>
        edge.rpc(method, params).then(({ status }) => status)
      expect(await call('htable.dump', ['answers'])).toBe(403)
      expect(await call('htable.seti', ['minutes', 'x', 1])).toBe(403)
      expect(await call('core.kill', [15])).toBe(403)
      const twice = '{"jsonrpc":"2.0","id":1,"method":"core.kill","method":"core.uptime","params":[15]}'
      const response = await fetch(`http://127.0.0.1:${edge.rpcPort}/RPC`, {
        method: 'POST',
        headers: bearer('secret-of-the-tests'),
        body: twice,
      })
      expect(response.status).toBe(403)
    })
  })
})
