// The DNS records that resellers have to set up, looked up at real name servers.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { Answer as DnsRecord } from 'dns-packet'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const system = '/v2/whitelabel/domains'
const required = {
  domain: { required: { message: 'Field is required but missing', value: 'domain' } },
}

const template = {
  A: { 'sip.{{domain}}': { name: 'Proxy', zone: 'east', mapping: ['203.0.113.1', '203.0.113.2'] } },
  AAAA: { 'sip.{{domain}}': { name: 'Proxy', mapping: ['2001:db8:0:0::1'] } },
  CNAM: { 'old.{{domain}}': { name: 'Old name', mapping: ['ui.vendor.example'] } },
  CNAME: { 'portal.{{domain}}': { name: 'Web GUI', zone: 'west', mapping: ['ui.vendor.example'] } },
  MX: { '{{domain}}': { name: 'Mail', mapping: ['mx1.vendor.example', 'mx2.vendor.example'] } },
  NAPTR: {
    'proxy.{{domain}}': { name: 'Pointer', mapping: ['10 100 "S" "SIP+D2U" "" _sip._udp.{{domain}}'] },
  },
  SRV: {
    '_sip._udp.{{domain}}': {
      name: 'Service',
      mapping: ['10 10 7000 sip.{{domain}}', '20 20 7000 sip2.{{domain}}'],
    },
  },
  TXT: { '{{domain}}': { name: 'Proof', mapping: ['vendor-proof=Abc'] } },
}

/** The records that the template asks for. */
const recordsFor = (domain: string): DnsRecord[] => [
  { type: 'A', name: `sip.${domain}`, data: '203.0.113.2' },
  { type: 'A', name: `sip.${domain}`, data: '203.0.113.1' },
  { type: 'AAAA', name: `sip.${domain}`, data: '2001:db8::1' },
  { type: 'CNAME', name: `old.${domain}`, data: 'ui.vendor.example' },
  { type: 'CNAME', name: `portal.${domain}`, data: 'UI.Vendor.example' },
  { type: 'MX', name: domain, data: { preference: 10, exchange: 'mx1.vendor.example' } },
  { type: 'MX', name: domain, data: { preference: 20, exchange: 'mx2.vendor.example' } },
  {
    type: 'NAPTR',
    name: `proxy.${domain}`,
    data: {
      order: 10,
      preference: 100,
      flags: 's',
      services: 'SIP+D2U',
      regexp: '',
      replacement: `_sip._udp.${domain}`,
    },
  },
  {
    type: 'SRV',
    name: `_sip._udp.${domain}`,
    data: { priority: 20, weight: 20, port: 7000, target: `sip2.${domain}` },
  },
  {
    type: 'SRV',
    name: `_sip._udp.${domain}`,
    data: { priority: 10, weight: 10, port: 7000, target: `sip.${domain}` },
  },
  { type: 'TXT', name: domain, data: 'v=spf1 mx -all' },
  { type: 'TXT', name: domain, data: 'vendor-proof=Abc' },
]

describeAnyEngine('whitelabel domains', (engine) => {
  let dead: DnsServer
  let dns: DnsServer
  const world = useWorld(
    engine,
    async ({ operator }) => {
      expect(await operator.post(system, template)).toSucceedWith(template)
    },
    async () => {
      dead = await startDnsServer()
      dns = await startDnsServer()
      return { dnsServers: [dead.text, dns.text] }
    },
  )
  afterAll(() => Promise.all([dead.close(), dns.close()]))
  beforeEach(() => {
    dns.clear()
    dns.behave({})
    // Refuses immediately, so that the other one is queried.
    dead.behave({ code: 5 })
  })

  const at = ({ path }: TestAccount) => `${path}/whitelabel/domains`
  let made = 0

  const branded = async () => {
    made += 1
    const domain = `brand${made}.test`
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await admin.put(`${account.path}/whitelabel`, { domain: domain.toUpperCase() })
    return { account, admin, domain, path: at(account) }
  }

  const expanded = (domain: string) => JSON.parse(JSON.stringify(template).replaceAll('{{domain}}', domain))

  it('are shown with the domain in its place, without a token', async () => {
    const { path, domain } = await branded()
    expect(await world.anonymous.get(path)).toSucceedWith(expanded(domain))
    const query = { domain: 'Other.example.' }
    expect(await world.anonymous.get(path, { query })).toSucceedWith(expanded('other.example'))
    expect(await world.anonymous.get(system, { query })).toSucceedWith(expanded('other.example'))
    const before = world.client({ 'x-auth-token': 'undefined' })
    expect(await before.get(system, { query: { domain: 'täst.example' } })).toSucceedWith(
      expanded('xn--tst-qla.example'),
    )
  })

  it('need a domain', async () => {
    const account = await world.account(world.reseller)
    expect(await world.anonymous.get(at(account))).toFailWith(400, 'validation error', required)
    expect(await world.anonymous.get(system)).toFailWith(400, 'validation error', required)
    expect(await world.anonymous.get(at({ ...account, path: `/v2/accounts/${'0'.repeat(32)}` }))).toFailWith(
      400,
      'validation error',
      required,
    )
    expect(await world.ross.post(at(account))).toFailWith(400, 'validation error', required)
    expect(await world.ross.post(at(account), {}, { query: { domain: 'a b' } })).toBreak({
      domain: ['wrong_format'],
    })
    expect(dns.asked.filter(({ name }) => name.includes(' '))).toEqual([])
  })

  it('are red as long as DNS holds nothing, and green when it holds what it should', async () => {
    const { admin, domain, path } = await branded()
    const red = await admin.post(path)
    const shown = expanded(domain)
    const expectedChecks = (actualOf: (type: string) => string[], matches: boolean) =>
      Object.fromEntries(
        Object.entries<Record<string, { mapping: string[]; name: string; zone?: string }>>(shown).map(
          ([type, hosts]) => [
            type,
            Object.fromEntries(
              Object.entries(hosts).map(([host, { mapping, ...rest }]) => [
                host,
                { ...rest, expected: mapping, actual: actualOf(type), matches },
              ]),
            ),
          ],
        ),
      )
    expect(red).toSucceedWith(expectedChecks(() => [], false))
    expect(red.body.metadata).toEqual({ senders: [] })
    dns.set(...recordsFor(domain))
    const green = await admin.post(path, {})
    const actual: Record<string, unknown> = {
      A: ['203.0.113.2', '203.0.113.1'],
      AAAA: ['2001:db8::1'],
      CNAM: ['ui.vendor.example'],
      CNAME: ['UI.Vendor.example'],
      MX: ['mx1.vendor.example', 'mx2.vendor.example'],
      NAPTR: [`10 100 "S" "SIP+D2U" "" _sip._udp.${domain}`],
      SRV: [`20 20 7000 sip2.${domain}`, `10 10 7000 sip.${domain}`],
      TXT: ['v=spf1 mx -all', 'vendor-proof=Abc'],
    }
    expect(green).toSucceedWith(expectedChecks((type) => actual[type] as string[], true))
    const tcp = await admin.post(path, undefined, { query: { use_tcp: true } })
    expect(tcp).toSucceedWith(green.data)
    dns.behave({ truncates: true })
    expect(await admin.post(path)).toSucceedWith(green.data)
  })

  it('do not match when DNS holds too little, too much or something else', async () => {
    const { admin, domain, path } = await branded()
    dns.set(
      { type: 'A', name: `sip.${domain}`, data: '203.0.113.1' },
      { type: 'CNAME', name: `portal.${domain}`, data: 'elsewhere.example' },
      ...['mx1', 'mx2', 'mx3'].map((host): DnsRecord => {
        return { type: 'MX', name: domain, data: { preference: 10, exchange: `${host}.vendor.example` } }
      }),
      { type: 'TXT', name: domain, data: 'vendor-proof=abc' },
    )
    const { data } = await admin.post(path)
    for (const [type, host] of [
      ['A', `sip.${domain}`],
      ['CNAME', `portal.${domain}`],
      ['MX', domain],
      ['TXT', domain],
    ] as const) {
      expect(data[type][host].matches).toBe(false)
      expect(data[type][host].actual).not.toEqual([])
    }
  })

  it('are looked up before the settings are saved, for a domain of the request', async () => {
    const account = await world.account(world.reseller)
    const domain = 'new.brand.test'
    dns.set(...recordsFor(domain))
    for (const [data, options] of [
      [undefined, { query: { domain } }],
      [{ domain }, {}],
      [undefined, { query: { domain }, headers: { 'content-type': 'application/json' }, body: '' }],
    ] as const) {
      const answer = await world.ross.post(at(account), data, options)
      expect(answer).toSucceed()
      expect(answer.data.A[`sip.${domain}`].matches).toBe(true)
    }
    await world.unchanged(() => world.ross.post(at(account), { domain }))
  })

  it('say which record could not be looked up, and why', async () => {
    const { admin, domain, path } = await branded()
    dns.set(...recordsFor(domain))
    dns.behave({ code: 2 })
    const failed = await admin.post(path)
    expect(failed).toSucceed()
    expect(failed.data.A[`sip.${domain}`]).toEqual({
      name: 'Proxy',
      zone: 'east',
      expected: ['203.0.113.1', '203.0.113.2'],
      actual: [],
      matches: false,
      error: 'the name server answered SERVFAIL',
    })
    dns.behave({ code: 3 })
    const absent = (await admin.post(path)).data.A[`sip.${domain}`]
    expect([absent.actual, absent.error]).toEqual([[], undefined])
  })

  it('are answered in time, thirty of them, at one dead and one slow name server', async () => {
    const hosts = (prefix: string) =>
      Object.fromEntries(
        Array.from({ length: 14 }, (_, at) => [
          `${prefix}${at}.{{domain}}`,
          { name: `Host ${at}`, mapping: ['203.0.113.1'] },
        ]),
      )
    const many = {
      A: { ...hosts('a'), ...hosts('b'), 'two words.{{domain}}': { name: 'No name', mapping: ['x'] } },
      LOC: { '{{domain}}': { name: 'Place', mapping: ['52 22 23 N'] } },
    }
    expect(await world.operator.post(system, many)).toSucceedWith(many)
    const { admin, domain, path } = await branded()
    for (let host = 0; host < 14; host += 1) {
      dns.set(
        { type: 'A', name: `a${host}.${domain}`, data: '203.0.113.1' },
        { type: 'A', name: `b${host}.${domain}`, data: '203.0.113.1' },
      )
    }
    dead.behave({ silent: true })
    dns.behave({ delayMs: 300 })
    const { data } = await admin.post(path)
    const checks = Object.values<{ matches: boolean; error?: string }>(data.A)
    expect(checks.filter(({ matches }) => matches)).toHaveLength(28)
    expect(data.A[`two words.${domain}`].error).toBe('this is not a valid DNS name')
    expect(data.LOC[domain].error).toBe('records of type LOC are not looked up')
    dns.behave({ silent: true })
    const silent = await admin.post(path)
    const errors = Object.values<{ error?: string }>(silent.data.A).map(({ error }) => error)
    expect(errors.filter((error) => error === 'no name server answered in time')).toHaveLength(28)
    expect(await world.operator.post(system, template)).toSucceed()
  })

  it('are looked up three times at once for an account, and no more often', async () => {
    const { admin, path } = await branded()
    const refused = Promise.withResolvers<void>()
    dns.behave({ until: refused.promise })
    const answers = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const answer = await admin.post(path)
        if (answer.status === 429) refused.resolve()
        return answer
      }),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 429])
    expect(await admin.post(path)).toSucceed()
  })

  it('tell for each sender address whether receivers find its key, and whether there is an SPF record', async () => {
    const { account, admin, domain, path } = await branded()
    const key = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
    const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')
    const emails = `${account.path}/whitelabel/emails`
    const put = await admin.put(emails, { email: `Help@${domain}`, dkim_selector: 'sel' })
    const id = put.body.metadata.id as string
    await admin.post(`${emails}/${id}`, undefined, {
      headers: { 'content-type': 'application/x-pem-file' },
      body: key.export({ type: 'pkcs1', format: 'pem' }).toString(),
    })
    const bare = await admin.put(emails, { email: 'bare@elsewhere.test' })
    await world.deliverMail()
    const [mail = ''] = await mailsTo(world.place.dataDir, `Help@${domain}`)
    const code = /(\d{4})\. It is valid/.exec(textOf(mail).replaceAll('\r\n', ' '))?.[1]
    await admin.post(`${emails}/${id}/verify`, { code })

    const senders = async () => (await admin.post(path)).body.metadata.senders
    const name = `sel._domainkey.${domain}`
    const dkim = { name, expected: `v=DKIM1; p=${publicKey}`, actual: [] as string[], matches: false }
    const spf = { name: domain, actual: [] as string[], valid: false }
    const other = {
      id: bare.body.metadata.id,
      email: 'bare@elsewhere.test',
      verified: false,
      spf: { name: 'elsewhere.test', actual: [], valid: false },
    }
    const own = { id, email: `Help@${domain}`, verified: true }
    expect(await senders()).toEqual([{ ...own, dkim, spf }, other])

    const record = `v=DKIM1;k=rsa; p=${publicKey.slice(0, 100)} ${publicKey.slice(100)}`
    dns.set(
      { type: 'TXT', name, data: [record.slice(0, 200), record.slice(200)] },
      { type: 'TXT', name: domain, data: 'v=spf1 include:_spf.vendor.example ip4:203.0.113.9 -all' },
      { type: 'TXT', name: domain, data: 'v=spf10 is something else' },
    )
    const policy = 'v=spf1 include:_spf.vendor.example ip4:203.0.113.9 -all'
    const good = { ...dkim, actual: [record], matches: true }
    expect(await senders()).toEqual([
      { ...own, dkim: good, spf: { ...spf, actual: [policy], valid: true } },
      other,
    ])

    const ask = (mechanisms: string[]) => world.configure('whitelabel', { spf_mechanisms: mechanisms })
    await ask(['include:_SPF.vendor.example', '+ip4:203.0.113.9'])
    expect(await senders()).toMatchObject([{ spf: { permits: true } }, { spf: { permits: false } }])
    await ask(['include:_spf.other.example'])
    expect(await senders()).toMatchObject([{ spf: { valid: true, permits: false } }, {}])
    await ask([])

    dns.set(
      { type: 'TXT', name, data: `v=DKIM1; p=${'A'.repeat(publicKey.length)}` },
      { type: 'TXT', name: domain, data: 'v=spf1 -all' },
      { type: 'TXT', name: domain, data: 'v=spf1 mx -all' },
    )
    expect(await senders()).toMatchObject([{ dkim: { matches: false }, spf: { valid: false } }, {}])
    dns.behave({ code: 2 })
    const error = 'the name server answered SERVFAIL'
    expect(await senders()).toMatchObject([
      { dkim: { matches: false, error }, spf: { error } },
      { spf: { error } },
    ])
  })

  it('are replaced by system administrators alone, and by records that make sense', async () => {
    const { admin, path, domain } = await branded()
    await world.unchanged(async () => {
      for (const person of [admin, world.ross, world.ada]) {
        expect(await person.post(system, template)).toFailWith(403, 'forbidden')
      }
      expect(await world.anonymous.post(system, template)).toFailWith(401, 'invalid_credentials')
      const alias = { name: 'Web GUI', mapping: ['ui.vendor.example'] }
      const bad: [object, Record<string, string[]>][] = [
        [{ CNAME: { 'portal.{{wrong}}': alias } }, { 'CNAME.portal%2E{{wrong}}': ['additionalProperties'] }],
        [{ CNAME: { 'a.{{domain}}': { name: 'x' } } }, { 'CNAME.a%2E{{domain}}.mapping': ['required'] }],
        [
          { CNAME: { 'a.{{domain}}': { name: 'x', mapping: [] } } },
          { 'CNAME.a%2E{{domain}}.mapping': ['minItems'] },
        ],
        [{ CNAME: { 'a.{{domain}}': { mapping: ['x'] } } }, { 'CNAME.a%2E{{domain}}.name': ['required'] }],
        [
          { CNAME: { 'a.{{domain}}': { ...alias, region: 'x' } } },
          { 'CNAME.a%2E{{domain}}.region': ['additionalProperties'] },
        ],
        [
          { CNAME: { 'a.{{domain}}': { ...alias, zone: 'x'.repeat(257) } } },
          { 'CNAME.a%2E{{domain}}.zone': ['maxLength'] },
        ],
        [{ MX: 'text' }, { MX: ['type'] }],
        ...['MAILTO', 'a', ''].map((type): [object, Record<string, string[]>] => [
          { [type]: {} },
          { [type]: ['additionalProperties'] },
        ]),
      ]
      for (const [data, rules] of bad) expect(await world.operator.post(system, data)).toBreak(rules)
      for (const data of [{}, undefined]) {
        expect(await world.operator.post(system, data)).toFailWith(400, 'invalid data', {
          domains: { required: { message: 'The domains schema is missing, unable to validate request' } },
        })
      }
    })
    const own = { CNAME: { 'portal.{{domain}}': { name: 'Portal', mapping: ['ui.{{domain}}'] } }, A: {} }
    expect(await world.operator.post(system, own)).toSucceedWith(own)
    expect(await world.anonymous.get(path)).toSucceedWith({
      A: {},
      CNAME: { [`portal.${domain}`]: { name: 'Portal', mapping: [`ui.${domain}`] } },
    })
    const { data } = await world.operator.get('/v2/system_configs/whitelabel')
    expect(data.default.domains).toEqual(own)
    expect(await world.operator.post(system, template)).toSucceed()
  })

  it('are not green where nothing is expected', async () => {
    const { admin, path, domain } = await branded()
    const host = `open.${domain}`
    const bare = { A: { 'open.{{domain}}': { name: 'Open' } }, TXT: { 'open.{{domain}}': { mapping: [] } } }
    expect(await world.operator.post(system, bare)).toSucceed()
    const { data } = await admin.post(path)
    expect(data).toEqual({
      A: { [host]: { expected: [], actual: [], name: 'Open', matches: false } },
      TXT: { [host]: { expected: [], actual: [], name: '', matches: false } },
    })
    expect(await world.operator.post(system, template)).toSucceed()
  })

  it('are looked up for callers who may see the account', async () => {
    const { path } = await branded()
    expect(await world.rex.post(path)).toFailWith(403, 'forbidden')
    expect(await world.anonymous.post(path)).toFailWith(401, 'invalid_credentials')
  })
})

describeAnyEngine('whitelabel domains without settings', (engine) => {
  const world = useWorld(engine)

  it('are a template to begin with', async () => {
    const { data } = await world.anonymous.get(system, { query: { domain: 'a.example' } })
    expect(Object.keys(data)).toEqual(['A', 'CNAME', 'MX', 'NAPTR', 'SRV', 'TXT'])
    expect(data.A).toEqual({
      'us-east.a.example': { name: 'Primary Proxy', zone: 'us-east', mapping: ['127.0.0.1'] },
      'us-central.a.example': { name: 'Secondary Proxy', zone: 'us-central', mapping: ['127.0.0.1'] },
      'us-west.a.example': { name: 'Tertiary Proxy', zone: 'us-west', mapping: ['127.0.0.1'] },
    })
    expect(data.SRV['_sip._udp.proxy-east.a.example'].mapping).toEqual([
      '10 10 7000 us-east.a.example',
      '15 15 7000 us-central.a.example',
      '20 20 7000 us-west.a.example',
    ])
    expect(data.NAPTR['proxy-west.a.example'].mapping).toEqual([
      '10 100 "S" "SIP+D2U" "" _sip._udp.proxy-west.a.example',
    ])
    expect(Object.keys(data.CNAME)).toEqual(['api.a.example', 'portal.a.example'])
  })
})
