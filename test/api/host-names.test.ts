// Host names of brands, conferences and realms form one tree: an account cannot take names of another one.
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'
import type { Json } from '../../src/lib/json.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const taken = 'The host name, a parent domain or a subdomain belongs to another account'
const domainTaken = 'White label domain is already in use'
const realmTaken = 'Account realm already in use'

const reserved = {
  address: 'Must be a host name, not an IP address',
  local: 'Must be a public host name, such as portal.example.com',
  suffix: 'Is a public suffix, such as co.uk: use a name below it',
  operator: 'The host name belongs to the operator of this server: use your own host name',
}

describeAnyEngine('host names', (engine) => {
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => {
    dns = await startDnsServer()
    return { dnsServers: [dns.text] }
  })
  let made = 0
  afterAll(() => dns.close())
  afterEach(() => dns.behave({}))

  const fresh = () => {
    made += 1
    return `brand${made}.test`
  }
  const label = () => fresh().replace('.test', '')
  const brandOf = ({ path }: TestAccount) => `${path}/whitelabel`

  /** An account with an admin, and names that it has. */
  const owner = async (names: Json, parent: TestAccount = world.reseller) => {
    const account = await world.account(parent)
    const admin = await world.admin(account)
    if (names.realm) expect(await admin.patch(account.path, { realm: names.realm })).toSucceed()
    const { realm: _, ...brand } = names
    if (Object.keys(brand).length > 0) expect(await admin.put(brandOf(account), brand)).toSucceed()
    return { account, admin }
  }

  type Owner = Awaited<ReturnType<typeof owner>>
  type Ask = (by: Owner, name: string) => Promise<Answer>

  /** Requests of an account for a host name, by the rejected field. */
  const uses: readonly (readonly [field: string, ask: Ask])[] = [
    ['domain', ({ account, admin }, domain) => admin.put(brandOf(account), { domain })],
    [
      'conference_public_domain',
      ({ account, admin }, host) => admin.put(brandOf(account), { conference_public_domain: host }),
    ],
    ['realm', ({ account, admin }, realm) => admin.patch(account.path, { realm })],
  ]
  const webUses = uses.slice(0, 2)
  const pairs = uses.flatMap(([had]) => uses.map(([wanted, ask]) => [had, wanted, ask] as const))

  const expectTaken = (answer: Answer, field: string, cause: string, message = taken) =>
    expect(answer).toFailWith(400, 'validation error', { [field]: { unique: { message, cause } } })

  const expectReserved = (answer: Answer, field: string, cause: string, message: string) =>
    expect(answer).toFailWith(400, 'validation error', { [field]: { forbidden: { message, cause } } })

  it.each(pairs)(
    'used as %s by one account cannot be taken by a stranger, nor names below and above, as %s',
    async (had, wanted, ask) => {
      const name = `portal.${fresh()}`
      await owner({ [had]: name })
      const stranger = await owner({})
      const above = name.replace(/^portal\./, '')
      const messages: Json = { 'domain domain': domainTaken, 'realm realm': realmTaken }
      const same = (messages[`${had} ${wanted}`] ?? taken) as string
      for (const [text, message] of [
        [name, same],
        [name.toUpperCase(), same],
        // A realm with a dot at the end is another text.
        [`${name}.`, wanted === 'realm' ? taken : same],
        [`deep.in.${name}`, taken],
        [above, taken],
      ] as const)
        expectTaken(await world.refused(() => ask(stranger, text)), wanted, text, message)
      expect(await ask(stranger, `other.${above}`)).toSucceed()
    },
  )

  const realmFields: readonly (readonly [field: string, make: Ask])[] = [
    ['realm', ({ account, admin }, realm) => admin.patch(account.path, { realm })],
    [
      'sip.realm',
      ({ account, admin }, realm) => admin.put(`${account.path}/devices`, { name: 'Desk', sip: { realm } }),
    ],
    [
      'account.auth_realm',
      ({ account, admin }, realm) =>
        admin.put(`${account.path}/connectivity`, { account: { auth_realm: realm }, servers: [] }),
    ],
  ]

  it.each(realmFields)(
    'of strangers, in any spelling, and texts that are no host names are rejected in %s',
    async (field, ask) => {
      const name = `sip.${fresh()}`
      const holder = await owner({ realm: name })
      const stranger = await owner({})
      for (const text of [name.toUpperCase(), `${name}.`, `deep.${name}`, name.replace('sip.', '')]) {
        const answer = await world.refused(() => ask(stranger, text))
        expect(answer).toBreak({ [field]: ['unique'] })
      }
      for (const text of ['sip..test', '.sip.test', `${label()}.test.`])
        expect(await world.refused(() => ask(stranger, text))).toBreak({ [field]: ['wrong_format'] })
      expect(await ask(holder, `deep.${name}`)).toSucceed()
      expect(await ask(stranger, fresh())).toSucceed()
    },
  )

  it.each(webUses)(
    'above a name that a stranger has are given by the operator with confirm_domain, as %s',
    async (field, ask) => {
      const name = fresh()
      const squatter = await owner({ domain: `x.${name}` })
      const account = await owner({})
      expectTaken(await world.refused(() => ask(account, name)), field, name)
      expectTaken(await world.refused(() => ask({ ...account, admin: world.operator }, name)), field, name)
      const brand = { [field]: name }
      const options = { envelope: { confirm_domain: true } }
      expect(await world.operator.put(brandOf(account.account), brand, options)).toSucceed()
      const visible = await world.operator.get(brandOf(squatter.account))
      expect(visible.data).toMatchObject({ domain: `x.${name}` })
      expect(await alertedAccounts()).toEqual([squatter.account.id])
      expect(await squatter.admin.delete(brandOf(squatter.account))).toSucceed()
      expect(await alertedAccounts()).toEqual([])
    },
  )

  it.each(uses)('below a name belong to its account and the sub-accounts, as %s', async (_field, ask) => {
    const domain = fresh()
    const reseller = await owner({ domain })
    const customer = await owner({}, reseller.account)
    expect(await ask(customer, `acme.${domain}`)).toSucceed()
    const self = await owner({}, reseller.account)
    expect(await ask({ ...self, admin: reseller.admin }, `own.${domain}`)).toSucceed()
  })

  const creations: readonly (readonly [route: string, create: Ask])[] = [
    ['PUT /v2/accounts', ({ admin }, realm) => admin.put('/v2/accounts', { name: `New ${realm}`, realm })],
    [
      'PUT /v2/accounts/{account_id}',
      ({ account, admin }, realm) => admin.put(account.path, { name: `New ${realm}`, realm }),
    ],
  ]

  it.each(creations)('of strangers are refused as the realm of a new account: %s', async (_route, create) => {
    const [domain, realm, own] = [fresh(), fresh(), fresh()]
    await owner({ domain, realm })
    const parent = await owner({ domain: own })
    for (const text of [domain, `sip.${domain}`, `sip.${realm}`])
      expectTaken(await world.refused(() => create(parent, text)), 'realm', text)
    expectTaken(await world.refused(() => create(parent, realm)), 'realm', realm, realmTaken)
    expectReserved(await world.refused(() => create(parent, 'co.uk')), 'realm', 'co.uk', reserved.suffix)
    expect(await create(parent, `sip.${own}`)).toSucceed()
  })

  describe('of an account and a sub-account', () => {
    /** Whether the two can have the same name. */
    const shared: Readonly<Record<string, boolean>> = {
      'domain domain': false,
      'domain conference_public_domain': true,
      'domain realm': true,
      'conference_public_domain domain': false,
      'conference_public_domain conference_public_domain': true,
      'conference_public_domain realm': true,
      'realm domain': true,
      'realm conference_public_domain': true,
      'realm realm': false,
    }

    it.each(pairs)(
      'can be the same only if visitors still see the brand above: %s above and %s below',
      async (above, below, ask) => {
        const [, askAbove] = uses.find(([field]) => field === above) ?? expect.fail()
        const isShared = shared[`${above} ${below}`]
        const first = fresh()
        const customer = await owner({}, (await owner({ [above]: first })).account)
        const second = fresh()
        const parent = await owner({})
        await owner({ [below]: second }, parent.account)
        const attempts = [
          [() => ask(customer, first), below],
          [() => askAbove(parent, second), above],
        ] as const
        for (const [attempt, field] of attempts) {
          if (isShared) expect(await attempt()).toSucceed()
          else expect(await world.refused(attempt)).toBreak({ [field]: ['unique'] })
        }
        expect(await alertedAccounts()).toEqual([])
      },
    )

    it('stay those of the account above in another spelling', async () => {
      const [domain, realm] = [fresh(), fresh()]
      const { account } = await owner({ domain, realm })
      const customer = await owner({}, account)
      for (const text of [`${domain}.`, domain.toUpperCase(), `https://${domain}:8443/`]) {
        const answer = await world.refused(() =>
          customer.admin.put(brandOf(customer.account), { domain: text }),
        )
        expectTaken(answer, 'domain', text, domainTaken)
      }
      const text = `${realm}.`
      const answer = await world.refused(() => customer.admin.patch(customer.account.path, { realm: text }))
      expectTaken(answer, 'realm', text)
    })

    it('leave the names below to the account above', async () => {
      const domain = fresh()
      const reseller = await owner({ domain })
      await owner({ realm: domain }, reseller.account)
      await owner({ realm: `sip.${domain}` }, reseller.account)
      await owner({ conference_public_domain: domain }, reseller.account)
      const brand = { domain, conference_public_domain: `meet.${domain}` }
      expect(await reseller.admin.post(brandOf(reseller.account), brand)).toSucceed()
      expect(await alertedAccounts()).toEqual([])
    })

    it('show visitors the brand of the account above', async () => {
      const domain = fresh()
      const { account } = await owner({ domain, company_name: 'Above' })
      const customer = await owner({}, account)
      const brand = { conference_public_domain: domain, company_name: 'Below' }
      expect(await customer.admin.put(brandOf(customer.account), brand)).toSucceed()
      expect((await customer.admin.get(`/v2/whitelabel/${domain}`)).data).toMatchObject({
        company_name: 'Above',
      })
    })

    it.each(webUses)('are not hosts that the template derives from a domain, as %s', async (field, ask) => {
      await world.configure('whitelabel', {
        domains: {
          CNAME: { 'Login.{{domain}}': { name: 'Web GUI', mapping: ['ui.example.net'] } },
          A: { 'sip.{{domain}}': { name: 'SIP proxy', mapping: ['192.0.2.1'] } },
          TXT: { 'text.{{domain}}': { name: 'Text', mapping: ['x'] } },
        },
      })
      const domain = fresh()
      const reseller = await owner({ domain })
      const customer = await owner({}, reseller.account)
      for (const text of [`login.${domain}`, `LOGIN.${domain}.`, `sip.${domain}`])
        expectTaken(await world.refused(() => ask(customer, text)), field, text)
      expect(await customer.admin.patch(customer.account.path, { realm: `login.${domain}` })).toSucceed()
      expect(await ask(customer, `text.${domain}`)).toSucceed()
      expect(await ask({ ...(await owner({})), admin: world.operator }, fresh())).toSucceed()
      const parent = await owner({})
      const other = fresh()
      await owner({ [field]: `login.${other}` }, parent.account)
      const brand = { domain: other }
      const answer = await world.refused(() => parent.admin.put(brandOf(parent.account), brand))
      expectTaken(answer, 'domain', other)
      const own = { domain, conference_public_domain: `login.${domain}` }
      expect(await reseller.admin.post(brandOf(reseller.account), own)).toSucceed()
    })
  })

  /** The rule that each text breaks. Undefined: a realm may have it. */
  const addresses: readonly (readonly [host: string, brand: Json, realm: Json | undefined])[] = [
    ['127.0.0.1', { forbidden: reserved.address }, { forbidden: reserved.address }],
    ['127.0.0.2.', { forbidden: reserved.address }, { forbidden: reserved.address }],
    ['127.1', { forbidden: reserved.address }, undefined],
    ['2130706433', { forbidden: reserved.address }, undefined],
    ['0x7f000001', { forbidden: reserved.address }, undefined],
    ['10.0.0.1:80', { forbidden: reserved.address }, { pattern: true }],
    ['[::1]', { wrong_format: true }, { pattern: true }],
    ['localhost', { forbidden: reserved.local }, { forbidden: reserved.local }],
    ['LOCALHOST.', { forbidden: reserved.local }, { forbidden: reserved.local }],
    ['a.localhost', { forbidden: reserved.local }, undefined],
    ...['co.uk', 'COM.AU.', 'xn--55qx5d.cn', 'anything.ck', 'github.io', 'info'].map(
      (host) => [host, { forbidden: reserved.suffix }, { forbidden: reserved.suffix }] as const,
    ),
    ['公司.cn', { forbidden: reserved.suffix }, { pattern: true }],
  ]

  it.each(uses)('are no addresses, local names or public suffixes, as %s', async (field, ask) => {
    for (const [text, brand, realm] of addresses) {
      const rule = field === 'realm' ? realm : brand
      const account = await owner({})
      if (rule === undefined) {
        expect(await ask(account, text)).toSucceed()
        continue
      }
      const answer = await world.refused(() => ask(account, text))
      if (rule.forbidden) expectReserved(answer, field, text, rule.forbidden as string)
      else expect(answer).toBreak({ [field]: Object.keys(rule) })
    }
  })

  it.each(uses)('may be below a public suffix, and below an unknown one, as %s', async (_field, ask) => {
    for (const host of [`${label()}.co.uk`, `${label()}.local`])
      expect(await ask(await owner({}), host)).toSucceed()
  })

  const withOperatorHosts = () =>
    world.configure('crossbar', {
      public_hosts: ['Portal.operator.test.'],
      recovery_ui_hosts: ['ui.operator.test', '*'],
    })

  it.each(uses)('of the operator, and names above them, are reserved, as %s', async (field, ask) => {
    await withOperatorHosts()
    const account = await owner({})
    const hosts = ['portal.operator.test', 'ui.operator.test.', 'OPERATOR.test']
    for (const text of field === 'realm' ? hosts : [...hosts, 'https://PORTAL.operator.test/x'])
      expectReserved(await world.refused(() => ask(account, text)), field, text, reserved.operator)
    expect(await ask(account, `${label()}.operator.test`)).toSucceed()
  })

  it('below those of the operator are for realms, and for brands that the operator writes', async () => {
    await withOperatorHosts()
    for (const [field, ask] of webUses) {
      const account = await owner({})
      const text = `${field.replaceAll('_', '-')}.portal.operator.test`
      expectReserved(await world.refused(() => ask(account, text)), field, text, reserved.operator)
      expect(await ask({ ...account, admin: world.operator }, text)).toSucceed()
      const brand = { [field]: text, company_name: 'Renamed' }
      expect(await account.admin.post(brandOf(account.account), brand)).toSucceed()
      expect(await alertedAccounts()).toEqual([])
    }
    const { account, admin } = await owner({})
    expect(await admin.patch(account.path, { realm: 'sip.portal.operator.test' })).toSucceed()
  })

  it('in two spellings are one name', async () => {
    await owner({ domain: 'büro.test' })
    const spellings = ['xn--bro-hoa.test', 'XN--BRO-HOA.TEST.']
    const others = ['BÜRO.test', 'bu\u0308ro.test', 'https://büro.test:8443/']
    for (const [field, ask] of uses) {
      const stranger = await owner({})
      for (const text of field === 'realm' ? spellings : [...spellings, ...others]) {
        const answer = await world.refused(() => ask(stranger, text))
        expectTaken(answer, field, text, field === 'domain' ? domainTaken : taken)
      }
    }
  })

  it('in conflict do not prevent other changes of the settings', async () => {
    const name = fresh()
    const { account, admin } = await owner({ domain: name })
    await world.configure('crossbar', { public_hosts: [name] })
    expect(await admin.post(brandOf(account), { domain: name, company_name: 'Renamed' })).toSucceed()
  })

  const alerts = async () => {
    await world.server.scheduler.runNow('host name conflicts')
    const { data } = await world.operator.get(`${world.master.path}/alerts`)
    return (data as unknown as Json[]).filter(({ category }) => category === 'host_name_conflict')
  }
  const alertedAccounts = async () => (await alerts()).map(({ from }) => (from as Json[])[0]?.value)

  const alertOf = ({ account }: Owner, fields: string) =>
    expect.objectContaining({
      title: 'Host names in conflict',
      message: `The account ${account.name} (${account.id}) has a host name that belongs to another account or to you: ${fields}. It keeps working. Decide which account owns it.`,
      level: 'warning',
      clearable: true,
      from: [{ type: 'account', value: account.id }],
    })

  it('in conflict keep working, and raise an alert until the conflict ends', async () => {
    const [domain, host] = [fresh(), fresh()]
    const one = await owner({ domain })
    const two = await owner({ conference_public_domain: host, realm: `realm.${host}` })
    expect(await alerts()).toEqual([])
    await world.configure('crossbar', { public_hosts: [domain, `realm.${host}`] })
    const found = await alerts()
    expect(found).toHaveLength(2)
    expect(found).toEqual(
      expect.arrayContaining([alertOf(one, 'domain'), alertOf(two, 'realm, conference_public_domain')]),
    )
    expect((await one.admin.get(`/v2/whitelabel/${domain}`)).data).toMatchObject({ domain })
    await world.configure('crossbar', { public_hosts: [] })
    expect(await alerts()).toEqual([])
  })

  it('that a new template derives from a domain keep working, and raise alerts', async () => {
    const domain = fresh()
    const parent = await owner({ domain })
    const customer = await owner({ domain: `ui.${domain}` }, parent.account)
    expect(await alerts()).toEqual([])
    await world.configure('whitelabel', {
      domains: { A: { 'ui.{{domain}}': { mapping: ['192.0.2.80'], name: 'Web GUI' } } },
    })
    const found = await alerts()
    expect(found).toHaveLength(2)
    expect(found).toEqual(expect.arrayContaining([alertOf(parent, 'domain'), alertOf(customer, 'domain')]))
    await world.configure('whitelabel', { domains: {} })
    expect(await alerts()).toEqual([])
  })

  it('that a template contains without {{domain}} are not derived from any domain', async () => {
    const fixed = fresh()
    await owner({ domain: fixed })
    await world.configure('whitelabel', {
      domains: { A: { [fixed]: { mapping: ['192.0.2.80'], name: 'Web GUI' } } },
    })
    const { account, admin } = await owner({})
    expect(await admin.put(brandOf(account), { domain: fresh() })).toSucceed()
    expect(await alerts()).toEqual([])
    await world.configure('whitelabel', { domains: {} })
  })

  it('below those of the former parent keep working after a move, and raise alerts', async () => {
    const name = fresh()
    const parent = await owner({ domain: name })
    const moved = await owner({ domain: `acme.${name}`, realm: `sip.acme.${name}` }, parent.account)
    const target = await world.account(world.reseller)
    const move = (to: TestAccount) => world.operator.post(`${moved.account.path}/move`, { to: to.id })
    expect(await move(target)).toSucceed()
    const found = await alerts()
    expect(found).toHaveLength(2)
    expect(found).toEqual(
      expect.arrayContaining([alertOf(parent, 'domain'), alertOf(moved, 'realm, domain')]),
    )
    const brand = { domain: `acme.${name}`, company_name: 'Moved' }
    expect(await moved.admin.post(brandOf(moved.account), brand)).toSucceed()
    expect((await moved.admin.get(`/v2/whitelabel/acme.${name}`)).data).toMatchObject(brand)
    expect(await move(parent.account)).toSucceed()
    expect(await alerts()).toEqual([])
  })

  describe('of brands', () => {
    const guarded: readonly (readonly [
      title: string,
      field: string | undefined,
      act: (by: Client, path: string, brand: Json) => Promise<Answer>,
    ])[] = [
      ['change the domain', 'domain', (by, path, brand) => by.post(path, { ...brand, domain: fresh() })],
      ['leave the domain out', 'domain', (by, path, { domain: _, ...brand }) => by.post(path, brand)],
      ['empty the domain', 'domain', (by, path, brand) => by.post(path, { ...brand, domain: '' })],
      ['set the domain to null', 'domain', (by, path, brand) => by.post(path, { ...brand, domain: null })],
      [
        'change the conference host',
        'conference_public_domain',
        (by, path, brand) => by.post(path, { ...brand, conference_public_domain: fresh() }),
      ],
      [
        'leave the conference host out',
        'conference_public_domain',
        (by, path, { conference_public_domain: _, ...brand }) => by.post(path, brand),
      ],
      [
        'empty the conference host',
        'conference_public_domain',
        (by, path, brand) => by.post(path, { ...brand, conference_public_domain: '' }),
      ],
      [
        'set the conference host to null',
        'conference_public_domain',
        (by, path, brand) => by.post(path, { ...brand, conference_public_domain: null }),
      ],
      ['delete the settings', undefined, (by, path) => by.delete(path)],
    ]

    it.each(guarded)('are guarded: only admins can %s', async (_title, field, act) => {
      const brand = { domain: fresh(), conference_public_domain: fresh(), company_name: 'Acme' }
      const { account, admin } = await owner(brand)
      const user = await world.user(account)
      const path = brandOf(account)
      const answer = await world.refused(() => act(user, path, brand))
      const message = 'Only an admin may change this'
      if (field === undefined)
        expect(answer).toFailWith(403, 'forbidden', {
          message: 'forbidden',
          cause: 'may be called by: admin of account or ancestor',
        })
      else
        expect(answer).toFailWith(400, 'validation error', {
          [field]: { forbidden: { message, cause: field } },
        })
      expect(await act(admin, path, brand)).toSucceed()
    })

    it('are guarded: only admins can upload the welcome page, the logo and the icon, by account and by domain', async () => {
      const domain = fresh()
      const { account, admin } = await owner({ domain })
      const user = await world.user(account)
      for (const place of [brandOf(account), `/v2/whitelabel/${domain}`]) {
        for (const kind of ['welcome', 'logo', 'icon']) {
          const file =
            kind === 'welcome'
              ? { headers: { 'content-type': 'text/html' }, body: '<p>Welcome</p>' }
              : { headers: { 'content-type': 'image/png' }, body: qrPng('a logo') }
          const upload = (by: Client) => by.post(`${place}/${kind}`, undefined, file)
          expect(await world.refused(() => upload(user))).toFailWith(403, 'forbidden', {
            message: 'forbidden',
            cause: 'may be called by: admin of account or ancestor',
          })
          expect(await upload(admin)).toSucceed()
        }
      }
    })

    it('leave the other settings to ordinary users', async () => {
      const brand = { domain: fresh(), company_name: 'Acme' }
      const { account } = await owner(brand)
      const user = await world.user(account)
      expect(await user.post(brandOf(account), { ...brand, company_name: 'Renamed' })).toSucceed()
    })
  })

  describe('of brands show the brand to visitors', () => {
    const pointHere = (...names: string[]) =>
      dns.set(...names.map((name) => ({ type: 'A', name, data: '192.0.2.80', ttl: 300 }) as const))
    const withTemplate = () =>
      world.configure('whitelabel', {
        domains: { A: { '{{domain}}': { mapping: ['192.0.2.80'], name: 'Web GUI' } } },
      })
    const expectUnknown = (answer: Answer, cause: string) =>
      expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause })

    it('after DNS matches the template, and not before', async () => {
      await withTemplate()
      const domain = fresh()
      const { admin } = await owner({ domain, company_name: 'Acme' })
      const at = `/v2/whitelabel/${domain}`
      expectUnknown(await world.anonymous.get(at), domain)
      expectUnknown(await world.anonymous.get(`${at}/logo`), domain)
      expect((await admin.get(at)).data).toMatchObject({ company_name: 'Acme' })
      pointHere(domain)
      expectUnknown(await world.anonymous.get(at), domain)
      world.clock.advance({ seconds: 61 })
      expect((await world.anonymous.get(at)).data).toMatchObject({ company_name: 'Acme' })
    })

    it('after DNS matches the template at any host of the domain', async () => {
      await world.configure('whitelabel', {
        domains: {
          A: { 'sip.{{domain}}': { mapping: ['192.0.2.81'], name: 'SIP proxy' } },
          CNAME: { 'portal.{{domain}}': { mapping: ['ui.example.net'], name: 'Web interface' } },
          TXT: { '{{domain}}': { mapping: ['a text'], name: 'Text' } },
        },
      })
      const [set, unset] = [fresh(), fresh()]
      for (const domain of [set, unset]) await owner({ domain })
      dns.set({ type: 'CNAME', name: `portal.${set}`, data: 'ui.example.net', ttl: 300 })
      dns.set({ type: 'TXT', name: unset, data: ['a text'], ttl: 300 })
      expect(await world.anonymous.get(`/v2/whitelabel/${set}`)).toSucceed()
      expectUnknown(await world.anonymous.get(`/v2/whitelabel/${unset}`), unset)
    })

    it('while DNS does not answer, if they saw it before', async () => {
      await withTemplate()
      const [seen, unseen] = [fresh(), fresh()]
      for (const domain of [seen, unseen]) await owner({ domain })
      pointHere(seen, unseen)
      const visit = (domain: string) => world.anonymous.get(`/v2/whitelabel/${domain}`)
      expect(await visit(seen)).toSucceed()
      dns.behave({ code: 2 })
      world.clock.advance({ seconds: 601 })
      expect(await visit(seen)).toSucceed()
      expectUnknown(await visit(unseen), unseen)
      const { length } = dns.asked
      expect(await visit(seen)).toSucceed()
      expect(dns.asked).toHaveLength(length)
      dns.behave({ code: 3 })
      world.clock.advance({ seconds: 61 })
      expectUnknown(await visit(seen), seen)
    })

    it('at a conference host with records like those of a domain', async () => {
      await withTemplate()
      const [domain, host] = [fresh(), fresh()]
      await owner({ domain, conference_public_domain: host, company_name: 'Acme' })
      const at = `/v2/whitelabel/${host}`
      pointHere(domain)
      expectUnknown(await world.anonymous.get(at), host)
      pointHere(host)
      world.clock.advance({ seconds: 61 })
      expect((await world.anonymous.get(at)).data).toMatchObject({ company_name: 'Acme' })
    })

    it('of the account, those below and those above, without DNS', async () => {
      const domain = fresh()
      const { account, admin } = await owner({ domain, company_name: 'Acme' })
      const below = await world.user(await world.account(account))
      const above = await world.user(world.reseller)
      for (const visitor of [admin, below, above, world.ross, world.operator])
        expect((await visitor.get(`/v2/whitelabel/${domain}`)).data).toMatchObject({ company_name: 'Acme' })
      const { admin: sibling } = await owner({})
      for (const visitor of [sibling, world.rex, world.anonymous])
        for (const path of ['', '/logo', '/welcome'])
          expectUnknown(await visitor.get(`/v2/whitelabel/${domain}${path}`), domain)
    })

    it('after the operator has confirmed the host, until the host changes', async () => {
      const domain = fresh()
      const { account, admin } = await owner({ domain, company_name: 'Acme' })
      const at = `/v2/whitelabel/${domain}`
      const path = brandOf(account)
      const brand = { domain, company_name: 'Acme' }
      expect(await admin.post(path, brand, { envelope: { confirm_domain: true } })).toSucceed()
      expect(await world.operator.post(path, brand)).toSucceed()
      expectUnknown(await world.anonymous.get(at), domain)
      expect(await world.operator.post(path, brand, { envelope: { confirm_domain: true } })).toSucceed()
      expect((await world.anonymous.get(at)).data).toMatchObject({ company_name: 'Acme' })
      expect(await admin.post(path, { ...brand, company_name: 'Renamed' })).toSucceed()
      expect((await world.anonymous.get(at)).data).toMatchObject({ company_name: 'Renamed' })
      const other = fresh()
      expect(await admin.post(path, { ...brand, domain: other })).toSucceed()
      expectUnknown(await world.anonymous.get(`/v2/whitelabel/${other}`), other)
    })

    it('after the operator has added the host, unless confirm_domain is false, which also withdraws it', async () => {
      const { account, admin } = await owner({})
      const domain = fresh()
      const path = brandOf(account)
      const at = `/v2/whitelabel/${domain}`
      const brand = { domain, company_name: 'Acme' }
      const confirm = (confirm_domain: unknown) => ({ envelope: { confirm_domain } })
      expect(await world.operator.put(path, brand, confirm(false))).toSucceed()
      expectUnknown(await world.anonymous.get(at), domain)
      expect(await world.operator.post(path, brand, { query: { confirm_domain: true } })).toSucceed()
      expect(await world.anonymous.get(at)).toSucceed()
      expect(await admin.post(path, brand, confirm(false))).toSucceed()
      expect(await world.anonymous.get(at)).toSucceed()
      expect(await world.operator.post(path, { ...brand, confirm_domain: 'false' })).toSucceed()
      expectUnknown(await world.anonymous.get(at), domain)
      expect(await world.operator.delete(path)).toSucceed()
      expect(await world.operator.put(path, brand)).toSucceed()
      expect(await world.anonymous.get(at)).toSucceed()
    })
  })
})
