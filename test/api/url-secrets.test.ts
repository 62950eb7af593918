// Passwords and keys in URLs are sent to their receivers and shown nowhere.
import { expect, it } from 'vitest'
import { maskUrls } from '../../src/lib/secrets.ts'
import { useHooks } from '../support/world/webhooks.ts'
import { describeEngines } from '../support/world/world.ts'

describeEngines('secrets in URLs', (engine) => {
  const hooks = useHooks(engine)
  const { world, hook, hooksOf } = hooks
  const everything = async () => {
    const tables = ['records', 'audit_log', 'webhook_attempts']
    const rows = await Promise.all(tables.map((table) => world.server.store.all(`SELECT * FROM ${table}`)))
    return rows.flat().map((row) => JSON.stringify(row))
  }

  it('are sent to the receiver, and are in no response, list, event, audit entry, log line or table', async () => {
    const account = await world.account()
    const plain = await hook(account)
    const { data } = await world.operator.get(plain.path)
    const uri = String(data.uri).replace('http://', 'http://ada:hush-hush@').concat('?token=hush-token&a=1')
    const shown = String(data.uri).replace('http://', 'http://ada:***@').concat('?token=***&a=1')
    const answers = {
      patch: await world.operator.patch(plain.path, { uri }),
      get: await world.operator.get(plain.path),
      list: await world.operator.get(hooksOf(account)),
      whole: await world.operator.get(hooksOf(account), { query: { full_docs: 'true' } }),
      field: await world.operator.get(hooksOf(account), { query: { fields: '["uri"]' } }),
      csv: await world.operator.get(hooksOf(account), { headers: { accept: 'text/csv' } }),
      audit: await world.operator.get(`${plain.path}/audit`),
      events: await world.operator.get(`${account.path}/events`, { query: { full: 'true' } }),
    }
    await world.user(account)
    const [first] = await hooks.receiver.told(plain.at, 1)
    expect(first?.headers.authorization).toBe(`Basic ${Buffer.from('ada:hush-hush').toString('base64')}`)
    expect(first?.query).toContain('token=hush-token')
    await hooks.attempts(plain, 1)
    const attempts = await world.operator.get(`${plain.path}/attempts`)
    for (const [name, { text }] of Object.entries({ ...answers, attempts })) {
      expect(text, name).toContain(shown)
      expect(text, name).not.toMatch(/hush-/)
    }
    expect((await everything()).filter((row) => row.includes('hush-'))).toEqual([])
    expect(JSON.stringify(world.logEntries)).not.toMatch(/hush-/)
  })

  it('of call recording and settings are masked in every response', async () => {
    await world.configure('crossbar', { allow_fetch_full_docs: true })
    const account = await world.account()
    const url = 'https://ada:hush-hush@records.test/in?token=hush-token'
    const shown = 'https://ada:***@records.test/in?token=***'
    const recording = { any: { any: { url } } }
    const user = await world.user(account)
    const device = await world.operator.put(`${account.path}/devices`, { name: 'Phone' })
    const devicePath = `${account.path}/devices/${device.data.id}`
    const setting = '/v2/system_configs/provisioner/default'
    const fields = { query: { fields: '["call_recording"]' } }
    const whole = { query: { full_docs: 'true' } }
    const above = `${world.master.path}/descendants`
    const search = { t: 'account', q: 'realm', v: account.realm }
    const answers = {
      account: await world.operator.patch(account.path, { call_recording: { account: recording } }),
      user: await world.operator.patch(user.path, { call_recording: recording }),
      device: await world.operator.patch(devicePath, { call_recording: recording }),
      setting: await world.operator.patch(setting, { provisioning_url: url }),
      'the account again': await world.operator.get(account.path),
      'the user again': await world.operator.get(user.path),
      'the device again': await world.operator.get(devicePath),
      'the setting again': await world.operator.get(setting),
      'the settings document': await world.operator.get('/v2/system_configs/provisioner'),
      'fields of users': await world.operator.get(`${account.path}/users`, fields),
      'whole devices': await world.operator.get(`${account.path}/devices`, whole),
      'fields of descendants': await world.operator.get(above, fields),
      'whole descendants': await world.operator.get(above, whole),
      'fields of children': await world.operator.get(`${world.master.path}/children`, fields),
      'fields of a search': await world.operator.get('/v2/search', { query: { ...search, ...fields.query } }),
      'a whole search': await world.operator.get('/v2/search', { query: { ...search, ...whole.query } }),
      audit: await world.operator.get(`${account.path}/audit`),
    }
    for (const [name, { text }] of Object.entries(answers)) {
      expect(text, name).toContain(shown)
      expect(text, name).not.toMatch(/hush-/)
    }
    const matching = async (wanted: string) =>
      (
        await world.operator.get(above, {
          query: { 'filter_call_recording.account.any.any.url': wanted },
        })
      ).data.length
    // A filter compares the visible value: it does not reveal the password.
    for (const wanted of [url, shown, url.replace('hush-hush', 'other')])
      expect(await matching(wanted)).toBe(1)
    expect(await matching(url.replace('ada', 'bob'))).toBe(0)
    expect((await everything()).filter((row) => row.includes('hush-'))).toEqual([])
  })

  it('are masked in rows that were stored before passwords were masked', async () => {
    const account = await world.account()
    const { id } = await hook(account)
    const sql =
      "UPDATE records SET row_json = REPLACE(row_json, 'http://', 'http://ada:old-secret@') WHERE id = $1"
    await world.server.store.writeUnrecorded([{ sql, params: [id] }])
    const { text } = await world.operator.get(hooksOf(account))
    expect(text).toContain('http://ada:***@')
    expect(text).not.toContain('old-secret')
  })

  it('must be sent again with a URL that is not the stored one', async () => {
    const account = await world.account()
    const { path } = await hook(account)
    const answer = await world.refused(() =>
      world.operator.patch(path, { uri: 'https://ada:***@host.test/' }),
    )
    expect(answer).toBreak({ uri: ['wrong_format'] })
    expect(await world.operator.patch(path, { uri: 'https://ada:new@203.0.113.7/' })).toSucceed()
  })

  it('of a list in the settings stay with their URLs when one is removed', async () => {
    const path = '/v2/system_configs/switch/default'
    const [first, second] = [
      'http://edge:first-secret@203.0.113.7/RPC',
      'http://edge:second-secret@203.0.113.8/RPC',
    ]
    const kamailio = (rpc_urls: unknown) => ({ kamailio: { rpc_urls } })
    expect(await world.operator.patch(path, kamailio([first, second]))).toSucceed()
    const shown = (await world.operator.get(path)).data.kamailio.rpc_urls
    expect(shown).toEqual(['http://edge:***@203.0.113.7/RPC', 'http://edge:***@203.0.113.8/RPC'])
    expect(await world.operator.patch(path, kamailio([shown[1]]))).toSucceed()
    const stored = await world.server.store.records.find('system', 'system_config', 'switch')
    expect(stored?.doc).toMatchObject({ default: kamailio([second]) })
    const wrong = await world.refused(() => world.operator.patch(path, kamailio([shown[0]])))
    expect(wrong).toBreak({ 'kamailio.rpc_urls.0': ['wrong_format'] })
  })

  it('are unchanged when their URL comes back masked', async () => {
    const account = await world.account()
    const { path } = await hook(account)
    const { data } = await world.operator.get(path)
    const uri = String(data.uri).replace('http://', 'http://ada:hush-hush@')
    expect(await world.operator.patch(path, { uri })).toSucceed()
    const shown = (await world.operator.get(path)).data
    expect(await world.operator.post(path, { ...shown, name: 'Renamed' })).toSucceed()
    const id = path.split('/').at(-1) ?? ''
    const stored = async () =>
      (await world.server.store.records.find(account.id, 'webhook', id))?.doc.uri as string
    expect(await stored()).toBe(uri)
    expect(await world.operator.patch(path, { uri: 'https://203.0.113.7/none' })).toSucceed()
    expect(await stored()).toBe('https://203.0.113.7/none')
  })
})

it.each([
  ['https://ada:hush@host.test/path', 'https://ada:***@host.test/path'],
  ['https://ada:hu@sh@host.test', 'https://ada:***@host.test'],
  ['https://sk_live_x:@api.test/', 'https://***:@api.test/'],
  ['https://ghp_0123456789abcdef@host.test/', 'https://***@host.test/'],
  ['https://ghp_0123456789abcdef:x-oauth-basic@host.test/', 'https://***:***@host.test/'],
  ['"a":"amqps://u:p%40ss@mq.test:5671/v"', '"a":"amqps://u:***@mq.test:5671/v"'],
  ['https://host.test/?x=1&access_token=hush&y=2#z', 'https://host.test/?x=1&access_token=***&y=2#z'],
  [
    'https://host.test/?private_token=a&api-key=b&pwd=c',
    'https://host.test/?private_token=***&api-key=***&pwd=***',
  ],
  [
    'https://host.test/?X-Amz-Signature=0a1b&X-Amz-Date=1',
    'https://host.test/?X-Amz-Signature=***&X-Amz-Date=1',
  ],
  ['https://host.test/#access_token=hush&state=1', 'https://host.test/#access_token=***&state=1'],
  ['https://host.test/?key=AIza0123456789abcdef', 'https://host.test/?key=***'],
  ['https://host.test/?pass%77ord=hush&%70wd=hush', 'https://host.test/?pass%77ord=***&%70wd=***'],
  ['https://host.test/in;v=1;password=hu;sh;w=2?a=b', 'https://host.test/in;v=1;password=***;w=2?a=b'],
  ['https://host.test/?a=1;token=hush', 'https://host.test/?a=1;token=***'],
  ['https://host.test/?authorization=Basic%20aHVzaA==', 'https://host.test/?authorization=***'],
  ['two: http://a:b@c.test and http://d:e@f.test', 'two: http://a:***@c.test and http://d:***@f.test'],
])('%s is shown as %s', (text, shown) => {
  expect(maskUrls(text)).toBe(shown)
  expect(maskUrls(shown)).toBe(shown)
})

it.each([
  'https://host.test:8443/a@b',
  'https://ada@host.test/',
  'https://help.test/?key=start&code=DE&auth=none',
  'https://host.test/?page=2&tokens=5',
  'see https://host.test, ada@host.test or https://help.test,support@help.test',
  'sip:ada:1@host',
  'mail ada@host.test at 10:00',
])('%s is shown as it is', (text) => expect(maskUrls(text)).toBe(text))

it('takes a time that grows with the text, whatever it contains', () => {
  const texts = ['://', '://a:', '?a', '&', 'a@', '?token='].map(
    (part) => `https://x/${part.repeat(200_000)}`,
  )
  for (const text of texts) expect(maskUrls(text).length).toBeLessThanOrEqual(text.length)
})
