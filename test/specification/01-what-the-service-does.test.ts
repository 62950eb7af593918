import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { qrPng } from '../../src/http/response/qr-png.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describe('The base address', () => {
  it('has a plain HTTP listener, on port 8000 unless another one is configured', () => {
    expect(readConfig({}).port).toBe(8000)
    expect(readConfig({ CROSSPOINT_PORT: '80' }).port).toBe(80)
  })
})

describeAnyEngine('The service', (engine) => {
  const world = useWorld(engine)

  it('manages accounts and their sub-accounts', async () => {
    const { data: child } = await world.ada.put(world.acme.path, { name: 'Branch' })
    expect((await world.ada.get(`${world.acme.path}/children`)).data).toEqual([
      { id: child.id, name: 'Branch', realm: child.realm, flags: [], descendants_count: 0 },
    ])
    expect(await world.ada.delete(`/v2/accounts/${child.id}`)).toSucceed()
    expect(await world.ada.get(`${world.acme.path}/children`)).toSucceedWith([])
  })

  it('starts every path with the version prefix /v2', async () => {
    expect(world.server.routes.filter(({ path }) => !path.startsWith('/v2/'))).toEqual([])
    expect(await world.ada.get(world.acme.path.replace('/v2', ''))).toFailWith(404, 'not_found')
    expect(await world.ada.get(world.acme.path)).toSucceed()
  })

  it('has account-scoped resources at /v2/accounts/{account_id}/<resource>/{resource_id}', async () => {
    const { id } = await world.device(world.acme)
    expect((await world.ada.get(`/v2/accounts/${world.acme.id}/devices/${id}`)).data.id).toBe(id)
  })

  it('takes and answers JSON unless an endpoint says otherwise', async () => {
    const answer = await world.ada.get(world.acme.path)
    expect(answer.headers['content-type']).toBe('application/json')
    const unread = { body: 'name=Acme', headers: { 'content-type': 'text/plain' } }
    expect(await world.unchanged(() => world.ada.patch(world.acme.path, undefined, unread))).toFailWith(
      415,
      'unsupported_media_type',
    )
  })

  it('uses other types, too: CSV, PNG images, HTML, PEM text', async () => {
    const account = await world.account(world.reseller)
    const whitelabel = `${account.path}/whitelabel`
    await world.ross.put(whitelabel, { domain: 'types.test' })
    const email = await world.ross.put(`${whitelabel}/emails`, { email: 'help@types.test' })
    const { privateKey } = generateKeyPairSync('ed25519')
    const upload = (path: string, type: string, body: string | Uint8Array) =>
      world.ross.post(path, undefined, { body, headers: { 'content-type': type } })
    expect(await upload(`${whitelabel}/logo`, 'image/png', qrPng('logo'))).toSucceed()
    expect(await upload(`${whitelabel}/welcome`, 'text/html', '<p>Hello</p>')).toSucceed()
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const key = `${whitelabel}/emails/${email.body.metadata.id}`
    expect(await upload(key, 'application/x-pem-file', pem)).toSucceed()

    const typeOf = async (path: string, accept: string) =>
      (await world.ross.get(path, { headers: { accept } })).headers['content-type']
    expect(await typeOf(`${whitelabel}/logo`, 'image/png')).toBe('image/png')
    expect(await typeOf(`${whitelabel}/welcome`, 'text/html')).toBe('text/html')
    expect(await typeOf(`${account.path}/cdrs`, 'text/csv')).toBe('text/csv')
  })

  it('takes a record as an object with one key `data`', async () => {
    const { path } = await world.device(world.acme)
    const patched = await world.ada.patch(path, undefined, { body: '{"data":{"name":"Desk"}}' })
    expect(patched.data.name).toBe('Desk')
    await world.unchanged(async () => {
      const bare = await world.ada.patch(path, undefined, { body: '{"name":"Hall"}' })
      expect(bare).toBreak({ data: ['required'] })
    })
  })

  it.each([
    ['authentication', '/v2/accounts/{account_id}/security'],
    ['whitelabeling: branding', '/v2/accounts/{account_id}/whitelabel'],
    ['whitelabeling: DNS domains', '/v2/accounts/{account_id}/whitelabel/domains'],
    ['whitelabeling: logo', '/v2/accounts/{account_id}/whitelabel/logo'],
    ['whitelabeling: icon', '/v2/accounts/{account_id}/whitelabel/icon'],
    ['whitelabeling: welcome text', '/v2/accounts/{account_id}/whitelabel/welcome'],
    ['whitelabeling: sender email addresses', '/v2/accounts/{account_id}/whitelabel/emails'],
    ['background tasks', '/v2/accounts/{account_id}/tasks'],
    ['account services and billing', '/v2/accounts/{account_id}/services'],
    ['IP access lists', '/v2/accounts/{account_id}/access_lists'],
    ['phone numbers', '/v2/accounts/{account_id}/phone_numbers'],
    ['CDRs', '/v2/accounts/{account_id}/cdrs'],
    ['alerts', '/v2/accounts/{account_id}/alerts'],
    ['SIP packet rate limits', '/v2/accounts/{account_id}/rate_limits'],
    ['migrations', '/v2/accounts/{account_id}/migrations'],
  ])('has a functional area: %s', async (_area, path) => {
    const answer = await world.ada.options(path.replace('{account_id}', world.acme.id))
    expect(answer.headers.allow).toContain('GET')
  })

  it('has a functional area: request throttling', async () => {
    await world.configure('crossbar', { token_costs: 1 })
    expect((await world.rex.get(world.rival.path)).body.tokens?.consumed).toBe(1)
    await world.configure('crossbar', { token_costs: 0 })
  })

  it('returns timestamps as integers in Gregorian seconds', async () => {
    const account = await world.account()
    const secondsFromYear0To1970 = 62_167_219_200
    const { data } = await world.operator.get(account.path)
    expect(data.created).toBe(world.clock.now() / 1000 + secondsFromYear0To1970)
  })

  it('returns them in another format if the name of a field announces it', async () => {
    await sendLegs(world, [legOf(world.acme, nowOf(world), { duration_seconds: 0 })])
    const [row] = (await world.ada.get(`${world.acme.path}/cdrs`)).data
    expect(row).toMatchObject({
      timestamp: String(nowOf(world)),
      unix_timestamp: String(world.clock.now() / 1000),
      rfc_1036: 'Mon, 05 Jan 2026 12:00:00 GMT',
      iso_8601: '2026-01-05',
    })
  })
})
