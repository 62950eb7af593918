// biome-ignore-all lint/suspicious/noTemplateCurlyInString: FreeSWITCH writes variables in this form
// Answers for a FreeSWITCH that asks with forms, as mod_xml_curl does. The test compares the documents with the formats
// that FreeSWITCH publishes, and runs no FreeSWITCH.
import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { actionsIn, hasOrders, readXml } from '../support/phones/switch-documents.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { createNumberSource, makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const place = '/v2/edge/freeswitch'

const notFound = `<document type="freeswitch/xml">
  <section name="result">
    <result status="not found"/>
  </section>
</document>
`

const md5 = (text: string) => hash('md5', text, 'hex')

const dialString =
  '{^^:sip_invite_domain=${dialed_domain}:presence_id=${dialed_user}@${dialed_domain}}${sofia_contact(*/${dialed_user}@${dialed_domain})}'

const directoryOf = (realm: string, user: string, params: string[][], variables: string[][]) => {
  const lines = (name: string, entries: string[][]) =>
    entries.map(([key, value]) => `          <${name} name="${key}" value="${value}"/>`)
  return `${[
    '<document type="freeswitch/xml">',
    '  <section name="directory">',
    `    <domain name="${realm}">`,
    `      <user id="${user}">`,
    '        <params>',
    ...lines('param', [...params, ['dial-string', dialString]]),
    '        </params>',
    '        <variables>',
    ...lines('variable', [['user_context', 'crosspoint'], ...variables]),
    '        </variables>',
    '      </user>',
    '    </domain>',
    '  </section>',
    '</document>',
  ].join('\n')}\n`
}

const dialplanOf = (context: string, actions: string[][]) =>
  `${[
    '<document type="freeswitch/xml">',
    '  <section name="dialplan">',
    `    <context name="${context}">`,
    '      <extension name="crosspoint">',
    '        <condition>',
    ...actions.map(
      ([application, data]) => `          <action application="${application}" data="${data}"/>`,
    ),
    '        </condition>',
    '      </extension>',
    '    </context>',
    '  </section>',
    '</document>',
  ].join('\n')}\n`

const forbidden = (context = 'crosspoint') => dialplanOf(context, [['respond', '403 Forbidden']])

const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' }

describeAnyEngine('FreeSWITCH', (engine) => {
  const world = useWorld(engine)
  const nextNumber = createNumberSource('+1415553')

  const keyOf = async (account: TestAccount, fields: Json = {}) => {
    const made = await world.operator.put(`${account.path}/api_keys`, {
      name: 'Switch',
      scopes: ['edge:write'],
      ...fields,
    })
    expect(made, made.text).toSucceed()
    return made.data as { id: string; key: string }
  }

  /** A switch that sends a key as `gateway-credentials`. */
  const switchWith = (key: string) =>
    world.client({ authorization: `Basic ${Buffer.from(`freeswitch:${key}`).toString('base64')}` })

  const post = (by: Client, form: Record<string, string>): Promise<Answer> =>
    by.post(place, undefined, { body: new URLSearchParams(form).toString(), headers: formHeaders })

  const fields = {
    hostname: 'switch',
    tag_name: 'domain',
    key_name: 'name',
    'Event-Name': 'REQUEST_PARAMS',
    'Core-UUID': 'b4c1b8b2-2d1c-4f1e-9f2f-0d1f2b5c6a7d',
  }

  const signIn = (realm: string, user: string, more: Record<string, string> = {}) => ({
    ...fields,
    section: 'directory',
    key_value: realm,
    action: 'sip_auth',
    sip_profile: 'internal',
    sip_user_agent: 'Snom 370',
    sip_auth_username: user,
    sip_auth_realm: realm,
    sip_auth_method: 'REGISTER',
    key: 'id',
    user,
    domain: realm,
    ip: '192.0.2.10',
    ...more,
  })

  const call = (number: string, more: Record<string, string> = {}) => ({
    ...fields,
    section: 'dialplan',
    tag_name: '',
    key_name: '',
    'Caller-Context': 'crosspoint',
    'Caller-Destination-Number': number,
    'Caller-Caller-ID-Number': '101',
    'Caller-Network-Addr': '192.0.2.10',
    variable_sip_user_agent: 'Snom 370',
    ...more,
  })

  const from = (realm: string, user: string) => ({
    variable_sip_authorized: 'true',
    variable_user_name: user,
    variable_domain_name: realm,
  })

  const told = async (form: Record<string, string>, by: Client = world.operator) => {
    const answer = await post(by, form)
    expect([answer.status, answer.headers['content-type']], answer.text).toEqual([200, 'text/xml'])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(hasOrders(answer.text)).toBe(false)
    readXml(answer.text)
    return answer.text
  }

  /** An account in which 100 rings Ann's phone, and which has a second phone. */
  const office = async () => {
    const account = await world.account(world.reseller)
    const caller_id = { internal: { name: 'Ann <"&\'> ${reboot}', number: '100' } }
    const ann = await world.user(account, { first_name: 'Ann', last_name: 'Office', caller_id })
    const desk = await world.device(account, {
      name: 'Desk',
      owner_id: ann.id,
      sip: { username: 'desk', password: 'desk-secret' },
    })
    const hall = await world.device(account, {
      name: 'Hall',
      sip: { username: 'hall', password: 'hall-secret' },
    })
    const number = nextNumber()
    await makeNumber(world, account, number)
    const flow = { module: 'user', data: { id: ann.id } }
    const made = await world.operator.put(`${account.path}/callflows`, { numbers: ['100', number], flow })
    expect(made, made.text).toSucceed()
    const callflowId = made.data.id as string
    return { account, realm: account.realm, ann, desk, hall, number, callflowId }
  }

  it('gets the password hash of a phone, and never the password', async () => {
    const { account, realm, ann, desk } = await office()
    const text = await told(signIn(realm, 'desk'))
    const variables = [
      ['effective_caller_id_name', 'Ann &amp;’ reboot'],
      ['effective_caller_id_number', '100'],
      ['accountcode', account.id],
      ['ecallmgr_Account-ID', account.id],
      ['ecallmgr_Authorizing-ID', desk.id],
      ['ecallmgr_Authorizing-Type', 'device'],
      ['ecallmgr_Owner-ID', ann.id],
    ]
    expect(text).toBe(directoryOf(realm, 'desk', [['a1-hash', md5(`desk:${realm}:desk-secret`)]], variables))
    expect(text).not.toContain('desk-secret')
    const dialled = {
      ...fields,
      section: 'directory',
      key_value: realm,
      action: 'user_call',
      as_channel: 'true',
      user: 'desk',
      domain: realm,
    }
    expect(await told(dialled)).toBe(directoryOf(realm, 'desk', [], variables))
  })

  it('knows no realm, user or address that may not pass', async () => {
    const { account, realm, desk, ann } = await office()
    const listed = { order: 'allow,deny', cidrs: ['192.0.2.0/24'] }
    expect(await world.operator.post(`${account.path}/access_lists`, listed)).toSucceed()
    const snoms = { ...listed, user_agent: '^Snom' }
    expect(await world.operator.post(`${desk.path}/access_lists`, snoms)).toSucceed()
    expect(await told(signIn(realm, 'desk'))).toContain('a1-hash')
    for (const [user, more] of [
      ['nobody', {}],
      ['desk', { domain: 'nobody.test' }],
      ['desk', { ip: '203.0.113.9' }],
      ['desk', { ip: '' }],
      ['desk', { ip: 'home' }],
      ['desk', { sip_user_agent: 'friendly-scanner' }],
      ['', {}],
      ['desk', { domain: '' }],
    ] as const)
      expect(await told(signIn(realm, user, more)), JSON.stringify([user, more])).toBe(notFound)
    for (const [path, off] of [
      [desk.path, { enabled: false }],
      [ann.path, { enabled: false }],
      [account.path, { enabled: false }],
    ] as const) {
      expect(await world.operator.patch(path, off)).toSucceed()
      expect(await told(signIn(realm, 'desk')), path).toBe(notFound)
      expect(await world.operator.patch(path, { enabled: true })).toSucceed()
      expect(await told(signIn(realm, 'desk')), path).toContain('a1-hash')
    }
  })

  it('rings who is called, in the words of the route', async () => {
    const { account, realm, hall, callflowId, number } = await office()
    const rings = [
      ['set', 'hangup_after_bridge=true'],
      ['set', 'call_timeout=20'],
      ['set', 'continue_on_fail=false'],
      ['bridge', `[leg_timeout=20]user/desk@${realm}`],
    ]
    const whose = [
      ['set', `accountcode=${account.id}`],
      ['set', `ecallmgr_Account-ID=${account.id}`],
    ]
    expect(await told(call('100', from(realm, 'hall')))).toBe(
      dialplanOf('crosspoint', [
        ...whose,
        ['set', `ecallmgr_Authorizing-ID=${hall.id}`],
        ['set', 'ecallmgr_Authorizing-Type=device'],
        ['set', `ecallmgr_Callflow-ID=${callflowId}`],
        ['set', 'effective_caller_id_name=Hall'],
        ['set', 'effective_caller_id_number=101'],
        ...rings,
      ]),
    )
    const carrier = { name: 'In', rules: ['^none$'], gateways: [{ server: '203.0.113.77' }] }
    expect(await world.operator.put('/v2/resources', carrier)).toSucceed()
    const brought = {
      'Caller-Context': 'public',
      'Caller-Network-Addr': '203.0.113.77',
      'Caller-Caller-ID-Number': '+33100000000',
    }
    expect(await told(call(number, brought))).toBe(
      dialplanOf('public', [
        ...whose,
        ['set', 'ecallmgr_Authorizing-Type=resource'],
        ['set', `ecallmgr_Callflow-ID=${callflowId}`],
        ['set', 'effective_caller_id_name=+33100000000'],
        ['set', 'effective_caller_id_number=+33100000000'],
        ...rings,
      ]),
    )
  })

  it('sends calls out over carriers, as many as the account may have, and emergencies always', async () => {
    const { account, realm, number } = await office()
    const { operator } = world
    const flow = { module: 'resources', data: {} }
    expect(await operator.put(`${account.path}/callflows`, { numbers: ['no_match'], flow })).toSucceed()
    const asks = () => told(call('+14155550199', from(realm, 'hall')))
    expect(actionsIn(await asks()).at(-1)).toEqual(['respond', '402 Payment Required'])
    expect(await operator.post(`${account.path}/limits`, { calls: 4, allow_prepay: true })).toSucceed()
    await world.credit(account, 10)
    const carrier = {
      name: 'Out',
      rules: ['^\\+1(\\d+)$', '^911$'],
      emergency: true,
      gateways: [
        { server: 'a.carrier.test', codecs: ['PCMU'] },
        { server: 'b.carrier.test', username: 'we', password: 'a-secret', realm: 'c.test' },
      ],
    }
    const { id } = (await operator.put(`${account.path}/resources`, carrier)).data
    const timing = 'leg_timeout=120,leg_progress_timeout=10'
    const sold = `ecallmgr_Account-ID=${account.id},ecallmgr_Authorizing-Type=resource,ecallmgr_Resource-ID=${id},ecallmgr_Account-Billing=per_minute,ecallmgr_E164-Destination=+14155550199`
    const text = await asks()
    expect(actionsIn(text).slice(-9)).toEqual([
      ['set', `effective_caller_id_name=${number}`],
      ['set', `effective_caller_id_number=${number}`],
      ['set', 'hangup_after_bridge=true'],
      ['set', 'call_timeout=120'],
      [
        'set',
        'continue_on_fail=PROGRESS_TIMEOUT,GATEWAY_DOWN,INVALID_GATEWAY,RECOVERY_ON_TIMER_EXPIRE,NORMAL_TEMPORARY_FAILURE,NETWORK_OUT_OF_ORDER',
      ],
      [
        'bridge',
        `[${timing},absolute_codec_string=^^:PCMU,${sold}]sofia/external/sip:4155550199@a.carrier.test`,
      ],
      ['set', 'call_timeout=120'],
      ['set', 'continue_on_fail=false'],
      ['bridge', `[${timing},${sold}]sofia/gateway/${id}-b.carrier.test/4155550199`],
    ])
    expect(actionsIn(text)).toContainEqual(['limit', `hash crosspoint ${account.id}.calls 4 !USER_BUSY`])
    expect(text).not.toContain('a-secret')
    expect(await operator.post(`${account.path}/limits`, { calls: 0 })).toSucceed()
    const emergency = actionsIn(await told(call('911', from(realm, 'hall'))))
    expect(emergency.map(([application]) => application)).not.toContain('limit')
    expect(emergency.at(-1)?.[1]).toContain(`sofia/gateway/${id}-b.carrier.test/911`)
  })

  it('gets a refusal for a caller that is not signed in, is no carrier or is blocked', async () => {
    const { account, realm, number } = await office()
    const elsewhere = { 'Caller-Network-Addr': '198.51.100.200' }
    for (const [what, more] of [
      ['a stranger', {}],
      ['a name without a sign-in', { ...from(realm, 'hall'), variable_sip_authorized: 'false' }],
      ['a user that is none', from(realm, 'nobody')],
      ['a realm that is none', from('nobody.test', 'hall')],
      ['no address', { ...from(realm, 'hall'), 'Caller-Network-Addr': '' }],
    ] as const)
      expect(await told(call('100', { ...elsewhere, ...more })), what).toBe(forbidden())
    expect(await told(call(number, { ...elsewhere, 'Caller-Context': 'public' }))).toBe(forbidden('public'))
    const listed = { order: 'allow,deny', cidrs: ['10.0.0.0/8'] }
    expect(await world.operator.post(`${account.path}/access_lists`, listed)).toSucceed()
    expect(await told(call('100', from(realm, 'hall')))).toBe(forbidden())
    const short = dialplanOf('crosspoint', [['respond', '484 Address Incomplete']])
    expect(await told(call('', from(realm, 'hall')))).toBe(short)
    expect(await told(call('1'.repeat(65), from(realm, 'hall')))).toBe(short)
  })

  it('knows the server of a trunk by its name and by its address', async () => {
    const { account, realm, callflowId } = await office()
    const servers = [
      { server_name: 'PBX', auth: { auth_user: 'pbx', auth_password: 'pbx-secret' } },
      { server_name: 'Spare', auth: { auth_method: 'IP', ip: '203.0.113.50' } },
    ]
    expect(
      await world.operator.put(`${account.path}/connectivity`, { name: 'Head office', servers }),
    ).toSucceed()
    const user = await told(signIn(realm, 'pbx'))
    expect(user).toContain(`<param name="a1-hash" value="${md5(`pbx:${realm}:pbx-secret`)}"/>`)
    const nearby = { 'Caller-Network-Addr': '203.0.113.50', variable_sip_from_host: '203.0.113.50' }
    for (const more of [from(realm, 'pbx'), nearby])
      expect(actionsIn(await told(call('100', more)))).toContainEqual([
        'set',
        `ecallmgr_Callflow-ID=${callflowId}`,
      ])
  })

  it('is left to its own files for everything else', async () => {
    const { realm } = await office()
    for (const form of [
      {
        ...fields,
        section: 'configuration',
        tag_name: 'configuration',
        key_name: 'name',
        key_value: 'sofia.conf',
      },
      { ...fields, section: 'phrases' },
      { ...fields, section: 'directory', purpose: 'gateways', profile: 'external' },
      { ...fields, section: 'directory', purpose: 'network-list', key_value: realm, domain: realm },
      call('100', { ...from(realm, 'hall'), 'Caller-Context': 'features' }),
      call('100', { ...from(realm, 'hall'), 'Caller-Context': '"><x' }),
    ])
      expect(await told(form)).toBe(notFound)
    expect(await post(world.operator, { hostname: 'switch' })).toBreak({ section: ['required'] })
  })

  it('signs in only with the named key of an operator as the password of Basic credentials', async () => {
    const { account, realm } = await office()
    const { id, key } = await keyOf(world.operator.account)
    const ask = signIn(realm, 'desk')
    expect(await told(ask, switchWith(key))).toContain('a1-hash')
    for (const other of [
      switchWith(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`),
      switchWith('freeswitch'),
      world.client({ authorization: `Basic ${Buffer.from(key).toString('base64')}` }),
      world.anonymous,
    ]) {
      const answer = await post(other, ask)
      expect(answer).toFailWith(401, 'invalid_credentials')
      expect(answer.text).not.toContain('a1-hash')
    }
    const ofCustomer = await keyOf(account, { scopes: ['*'] })
    const ofReseller = await keyOf(world.reseller, { scopes: ['*'] })
    const narrow = await keyOf(world.operator.account, { scopes: ['edge:read'] })
    const kept = await world.snapshot()
    for (const other of [
      switchWith(ofCustomer.key),
      switchWith(ofReseller.key),
      switchWith(narrow.key),
      world.ross,
      world.ada,
      world.uli,
    ]) {
      for (const form of [ask, call('100', from(realm, 'hall'))]) {
        const answer = await post(other, form)
        expect(answer).toFailWith(403, 'forbidden')
        expect(answer.text).not.toMatch(/a1-hash|bridge/)
      }
    }
    expect(await world.snapshot()).toEqual(kept)
    const away = await keyOf(world.operator.account, { networks: ['10.9.0.0/16'] })
    expect(await post(switchWith(away.key), ask)).toFailWith(401, 'invalid_credentials')
    expect(await world.operator.delete(`${world.operator.account.path}/api_keys/${id}`)).toSucceed()
    expect(await post(switchWith(key), ask)).toFailWith(401, 'invalid_credentials')
  })

  it('takes a form with every variable of a call, and of strangers no large one', async () => {
    const { realm } = await office()
    const many = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [
        `variable_switch_r_sdp_${index}`,
        'v=0\r\no=- & <x> '.repeat(8),
      ]),
    )
    expect(actionsIn(await told({ ...call('100', from(realm, 'hall')), ...many })).at(-1)?.[0]).toBe('bridge')
    expect(await post(world.anonymous, { ...call('100'), ...many })).toFailWith(401, 'invalid_credentials')
  })
})
