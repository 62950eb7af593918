// Authentication.
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { said, saidError } from '../support/matchers/said.ts'
import { eventually } from '../support/run/eventually.ts'
import { getSecurely, shipped } from '../support/servers/tls.ts'
import { basicHeader } from '../support/world/client.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { pathWith } from '../support/world/route-samples.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const unknown = saidError(401, 'invalid_credentials', { message: 'invalid credentials' })
const uliDigest = credentialsOf('uli', 'uli-secret')

describeAnyEngine('Authentication', (engine) => {
  const world = useWorld(engine)

  const signIn = (data: object, envelope: Record<string, unknown> = {}) =>
    world.anonymous.put('/v2/user_auth', data, { envelope })

  /** Shows that a sign-in opens a session of the user Uli. */
  const expectUli = async (answer: Awaited<ReturnType<typeof signIn>>) => {
    expect(answer.data.owner_id).toBe(world.uli.id)
    const client = world.clientWithToken(String(answer.body.auth_token))
    expect((await client.get(world.uli.path)).data.username).toBe('uli')
  }

  it('nearly every request must be authenticated: without valid credentials 401 with the error envelope', async () => {
    const guarded = world.server.routes.filter(({ spec }) => spec.allow.needsToken)
    expect(guarded.length).toBeGreaterThan(200)
    await world.unchanged(async () => {
      for (const route of guarded) {
        const path = pathWith(route, { account_id: world.acme.id })
        for (const stranger of [world.anonymous, world.clientWithToken('not-a-token')])
          expect(said(await stranger.request(route.method, path)), `${route.method} ${path}`).toEqual(unknown)
      }
    })
  })

  it('token authentication: obtain a token with user_auth or api_auth, then send it in X-Auth-Token', async () => {
    const { api_key } = (await world.ada.get(`${world.acme.path}/api_key`)).data
    const sessions = [
      await signIn({ credentials: uliDigest, account_name: 'Acme' }),
      await world.anonymous.put('/v2/api_auth', { api_key }),
    ]
    for (const { body } of sessions) {
      const client = world.client({ 'X-Auth-Token': String(body.auth_token) })
      expect(await client.get(world.acme.path)).toSucceed()
    }
  })

  it('user login: MD5, or SHA1 with method sha, of the lower-cased username, a colon, and the password', async () => {
    const sha = credentialsOf('uli', 'uli-secret', 'sha1')
    await expectUli(await signIn({ credentials: uliDigest, account_name: 'Acme' }))
    await expectUli(await signIn({ credentials: sha, account_name: 'Acme' }, { method: 'sha' }))
    expect(await signIn({ credentials: sha, account_name: 'Acme' })).toFailWith(401, 'invalid_credentials')
  })

  it('user login: by the account name, the account’s realm, or a phone number', async () => {
    await makeNumber(world, world.acme, '+14155550199')
    for (const account of [
      { account_name: 'Acme' },
      { account_realm: 'acme.test' },
      { phone_number: '+14155550199' },
    ])
      await expectUli(await signIn({ credentials: uliDigest, ...account }))
  })

  it('account API login: an account-level api_key is exchanged for a token', async () => {
    const { api_key } = (await world.ada.get(`${world.acme.path}/api_key`)).data
    const answer = await world.anonymous.put('/v2/api_auth', { api_key })
    expect(answer.data).toMatchObject({ account_id: world.acme.id })
    expect(answer.data).not.toHaveProperty('owner_id')
  })

  it('basic authentication: account id and hash are sent with every request', async () => {
    const basic = world.client(basicHeader(world.acme.id, uliDigest))
    for (const path of [world.acme.path, world.uli.path]) expect(await basic.get(path)).toSucceed()
    const wrong = world.client(basicHeader(world.acme.id, credentialsOf('uli', 'guessed')))
    expect(said(await wrong.get(world.uli.path))).toEqual(unknown)
  })

  describe('permissions', () => {
    const next = createNumberSource()

    it('adding or changing phone numbers: the flag `pvt_wnm_allow_additions`, or the master account', async () => {
      const { ada, acme, operator } = world
      const [refused, path] = [pathOf(acme, next()), pathOf(acme, next())]
      expect(await world.unchanged(() => ada.put(refused))).toFailWith(403, 'forbidden')
      expect(await operator.put(path)).toSucceed()
      expect(await world.unchanged(() => ada.patch(path, { my: 1 }))).toFailWith(403, 'forbidden')
      await allowAdditions(world, acme)
      expect(await ada.patch(path, { my: 1 })).toSucceed()
    })

    it('hard deletion of a number: administrators', async () => {
      const hard = { query: { hard: true } }
      const state = async (by: typeof world.ada) => {
        const path = await makeNumber(world, world.acme, next())
        return (await by.delete(path, undefined, hard)).data.state
      }
      expect([await state(world.ada), await state(world.operator)]).toEqual(['available', 'deleted'])
    })

    it('setting system whitelabel domains: system administrators', async () => {
      const domains = { A: { '{{domain}}': { name: 'Web GUI', mapping: ['203.0.113.1'] } } }
      const set = (by: typeof world.ada) => by.post('/v2/whitelabel/domains', domains)
      for (const by of [world.ada, world.ross])
        expect(await world.unchanged(() => set(by))).toFailWith(403, 'forbidden')
      expect(await set(world.operator)).toSucceedWith(domains)
    })

    it('tasks on system resources: the super-duper administrator', async () => {
      const options = {
        query: { category: 'rates', action: 'import' },
        headers: { 'content-type': 'text/csv' },
        body: 'prefix,rate_cost\n1,0.1\n',
      }
      const make = (by: typeof world.ada) => by.put(`${world.acme.path}/tasks`, undefined, options)
      for (const by of [world.ada, world.ross])
        expect(await world.unchanged(() => make(by))).toFailWith(403, 'forbidden')
      expect(await make(world.operator)).toSucceed()
    })

    it('an alert can be removed only if clearable', async () => {
      const account = await world.account(world.reseller)
      const admin = await world.admin(account)
      const alerts = `${account.path}/alerts`
      await world.operator.put(alerts, {
        title: 'Maintenance',
        message: 'On Sunday',
        from: [{ type: 'account', value: world.master.id }],
        to: [{ type: account.id, value: 'admins' }],
      })
      // The server itself raises an alert for a port, as long as there is one.
      await makeNumber(world, account, next(), { create_with_state: 'port_in' })
      type Row = { id: string; clearable: boolean }
      const rows: Row[] = (await admin.get(alerts)).data
      expect(rows.map(({ clearable }) => clearable).toSorted()).toEqual([false, true])
      for (const { id, clearable } of rows) {
        const remove = () => admin.delete(`${alerts}/${id}`)
        if (clearable) expect(await remove()).toSucceed()
        else
          expect(await world.unchanged(remove)).toFailWith(403, 'forbidden', {
            message: 'this alert cannot be cleared: it ends with its cause',
            cause: id,
          })
      }
    })
  })

  describe('transport security', () => {
    const crossbar = '/v2/system_configs/crossbar/default'
    const files = { ssl_cert: shipped('first.cert.pem'), ssl_key: shipped('first.key.pem') }

    it('ssl_port: 8443 unless it is set; a reverse proxy forwards to the plain listener on port 8000', async () => {
      const { data } = await world.operator.get('/v2/system_configs/crossbar', {
        query: { with_defaults: true },
      })
      expect(data.default.ssl_port).toBe(8443)
      expect(readConfig({}).port).toBe(8000)
    })

    it('TLS is enabled with use_ssl, ssl_port, ssl_cert and ssl_key of the service’s document', async () => {
      expect(await world.operator.patch(crossbar, { use_ssl: true, ssl_port: 0, ...files })).toSucceed()
      const port = Number(
        await eventually(
          () => world.server.tlsPort,
          (open) => open !== undefined,
        ),
      )
      expect(await getSecurely(port)).toMatchObject({ status: 200, subject: 'first.test' })
      expect(await world.operator.patch(crossbar, { use_ssl: false })).toSucceed()
      await eventually(
        () => world.server.tlsPort,
        (open) => open === undefined,
      )
    })
  })
})
