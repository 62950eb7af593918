import { describe, expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const all = '/v2/system_configs'

describeAnyEngine('system configs', (engine) => {
  const world = useWorld(engine)

  it('shows the defaults of an unchanged document, and does not list it', async () => {
    const answer = await world.operator.get(`${all}/crossbar.accounts`)
    expect(answer).toSucceedWith({
      id: 'crossbar.accounts',
      default: {
        ensure_unique_name: true,
        allow_sibling_listing: true,
        allow_subaccounts_for_direct: true,
        allow_move: 'superduper',
      },
    })
    expect(answer.body.metadata).toEqual({ id: 'crossbar.accounts' })
    expect((await world.operator.get(all)).data).not.toContain('crossbar.accounts')
  })

  it('keeps a document that only clients read, and warns that the server does not read it', async () => {
    const path = `${all}/of.clients`
    expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
    const answer = await world.operator.post(path, { default: { a: 1 } })
    expect(answer).toSucceedWith({ id: 'of.clients', default: { a: 1 } })
    expect(answer.body.metadata.warnings).toEqual([
      {
        path: 'of.clients',
        message:
          'The server does not use this document. Accounts can read it under configs, unless hidden_documents of crossbar.configs contains its name',
      },
    ])
    expect(await world.operator.delete(path)).toSucceedWith({ id: 'of.clients', default: { a: 1 } })
    expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('goes through the life of a document: post, patch of a node, read of the node, delete', async () => {
    const path = `${all}/my.app`
    expect(
      await world.operator.post(path, { default: { colour: 'red', size: { x: 1, y: 2 } } }),
    ).toSucceedWith({
      id: 'my.app',
      default: { colour: 'red', size: { x: 1, y: 2 } },
    })
    expect((await world.operator.get(all)).data).toContain('my.app')

    const node = `${path}/app@one.example.com`
    expect(await world.operator.patch(node, { size: { y: 5 } })).toSucceedWith({
      id: 'my.app/app@one.example.com',
      size: { y: 5 },
    })
    expect(await world.operator.get(node)).toSucceedWith({
      id: 'my.app/app@one.example.com',
      colour: 'red',
      size: { x: 1, y: 5 },
    })
    expect(await world.operator.get(path)).toSucceedWith({
      id: 'my.app',
      default: { colour: 'red', size: { x: 1, y: 2 } },
      'app@one.example.com': { size: { y: 5 } },
    })
    expect(await world.operator.get(path, { query: { with_defaults: true } })).toSucceedWith({
      id: 'my.app',
      default: { colour: 'red', size: { x: 1, y: 2 } },
      'app@one.example.com': { colour: 'red', size: { x: 1, y: 5 } },
    })

    const deletedNode = await world.operator.delete(node)
    expect(deletedNode).toSucceedWith({ id: 'my.app/app@one.example.com', size: { y: 5 } })
    expect(deletedNode.body.metadata.deleted).toBe(true)
    expect(await world.operator.delete(node)).toFailWith(404, 'bad identifier', ['app@one.example.com'])

    const deleted = await world.operator.delete(path)
    expect(deleted).toSucceedWith({ id: 'my.app', default: { colour: 'red', size: { x: 1, y: 2 } } })
    expect(deleted.body.metadata).toMatchObject({ id: 'my.app', deleted: true })
    expect((await world.operator.get(all)).data).not.toContain('my.app')
    expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('goes with its last section', async () => {
    await world.operator.put(`${all}/short.lived`, { default: { a: 1 } })
    expect(await world.operator.delete(`${all}/short.lived/default`)).toSucceedWith({
      id: 'short.lived/default',
      a: 1,
    })
    expect((await world.operator.get(all)).data).not.toContain('short.lived')
  })

  it('stores only what differs from the defaults, so that new defaults reach old installations', async () => {
    const answer = await world.operator.put(`${all}/crossbar.auth`, {
      default: { token_auth_expiry_s: 7200, renew: true },
    })
    expect(answer).toSucceedWith({ id: 'crossbar.auth', default: { token_auth_expiry_s: 7200 } })
    expect(answer.headers.location).toBeUndefined()
    expect((await world.operator.get(`${all}/crossbar.auth`)).data.default).toMatchObject({
      token_auth_expiry_s: 7200,
      renew: true,
    })
    await world.operator.delete(`${all}/crossbar.auth`)
  })

  it('keeps a value of a node that equals the default of the schema but not the one above it', async () => {
    await world.operator.post(`${all}/crossbar.auth`, { default: { token_auth_expiry_s: 7200 } })
    expect(
      await world.operator.post(`${all}/crossbar.auth/app@two`, { token_auth_expiry_s: 3600, renew: true }),
    ).toSucceedWith({ id: 'crossbar.auth/app@two', token_auth_expiry_s: 3600 })
    await world.operator.delete(`${all}/crossbar.auth`)
  })

  it('merges a PATCH deep and removes keys that are null', async () => {
    await world.operator.post(`${all}/merged`, { default: { a: { b: 1, c: 2 }, list: [1, 2] } })
    expect(
      await world.operator.patch(`${all}/merged`, { default: { a: { b: null, d: 3 }, list: [9] } }),
    ).toSucceedWith({ id: 'merged', default: { a: { c: 2, d: 3 }, list: [9] } })
    await world.operator.delete(`${all}/merged`)
  })

  it('asks for the default section when a document is replaced, and takes an echoed answer', async () => {
    expect(await world.operator.post(`${all}/echoed`, { other: {} })).toBreak({ default: ['required'] })
    expect(await world.operator.put(`${all}/echoed`, {})).toBreak({ default: ['required'] })
    expect(await world.operator.post(`${all}/echoed`, { default: { a: 1 } })).toSucceed()
    const { data } = await world.operator.get(`${all}/echoed`)
    expect(await world.operator.post(`${all}/echoed`, data)).toSucceedWith({
      id: 'echoed',
      default: { a: 1 },
    })
    await world.operator.delete(`${all}/echoed`)
  })

  it('is followed by the running server without a restart', async () => {
    expect(await world.operator.patch(`${all}/crossbar/default`, { pagination_page_size: 1 })).toSucceed()
    expect((await world.ada.get(`${world.acme.path}/users`)).data).toHaveLength(1)
    expect(await world.operator.patch(`${all}/crossbar/default`, { pagination_page_size: null })).toSucceed()
    expect((await world.ada.get(`${world.acme.path}/users`)).data).toHaveLength(2)
  })

  it('casts texts like every other record', async () => {
    expect(
      await world.operator.post(`${all}/crossbar.auth`, {
        default: { token_auth_expiry_s: '60', renew: 'false' },
      }),
    ).toSucceedWith({ id: 'crossbar.auth', default: { token_auth_expiry_s: 60, renew: false } })
    await world.operator.delete(`${all}/crossbar.auth`)
  })

  it('keeps keys that the schema does not know, and warns that nothing follows them', async () => {
    const warning = (path: string) => ({
      path,
      message: 'The server does not use this key',
    })
    const section = { mine: [1], rate_limits: { device: { per_hour: {}, 'a.b': 1 } } }
    const [here, node] = [`${all}/frontier`, 'one@two.test']
    const inDocument = ['mine', 'rate_limits.device.per_hour', 'rate_limits.device.a%2Eb']
    const posted = await world.operator.post(here, { default: section, [node]: { mine: 2 } })
    expect(posted).toSucceedWith({ id: 'frontier', default: section, [node]: { mine: 2 } })
    const all3 = [...inDocument.map((path) => `default.${path}`), 'one@two%2Etest.mine'].map(warning)
    expect(posted.body.metadata.warnings).toEqual(all3)
    expect((await world.operator.get(here)).body.metadata.warnings).toEqual(all3)
    expect((await world.operator.patch(here, { default: {} })).body.metadata.warnings).toEqual(all3)
    const part = await world.operator.patch(`${here}/default`, { mine: null })
    expect(part.body.metadata.warnings).toEqual(inDocument.slice(1).map(warning))
    await world.operator.delete(here)
  })

  it('warns of no key that is a name', async () => {
    const buckets = { max_bucket_tokens: 50, default: { max_bucket_tokens: 40 }, pqc: { tokens_fill: 1 } }
    const answer = await world.operator.post(`${all}/token_buckets`, { default: buckets })
    const followed = 'The server does not use this key'
    const warnings = [{ path: 'default.pqc.tokens_fill', message: followed }]
    expect(answer.body.metadata.warnings).toEqual(warnings)
    await world.operator.delete(`${all}/token_buckets`)
    const restrictions = { cb_user_auth: { user: { _: [] } } }
    const bare = await world.operator.post(`${all}/crossbar.token_restrictions`, { default: restrictions })
    expect(bare.body.metadata.warnings).toBeUndefined()
    await world.operator.delete(`${all}/crossbar.token_restrictions`)
  })

  describe('refuses', () => {
    const refusals: [string, object, Record<string, string[]>][] = [
      [
        'a value of another type',
        { pagination_page_size: 'many' },
        { 'default.pagination_page_size': ['type'] },
      ],
      ['a value out of bounds', { ssl_port: 70_000 }, { 'default.ssl_port': ['maximum'] }],
      ['a choice that is none', { basic_auth_type: 'sha9' }, { 'default.basic_auth_type': ['enum'] }],
      [
        'proxies that are no addresses',
        { reverse_proxies: ['10.0.0.0/8', 'proxy.example', '::1', '10.0.0.0/40'] },
        { 'default.reverse_proxies.1': ['wrong_format'], 'default.reverse_proxies.3': ['wrong_format'] },
      ],
      ['no plain listener', { use_plaintext: false }, { 'default.use_plaintext': ['invalid'] }],
      ['another port for the plain listener', { port: 8000 }, { 'default.port': ['invalid'] }],
      ['a negative price', { token_costs: -1 }, { 'default.token_costs': ['minimum'] }],
      ['a price that is none', { token_costs: [1] }, { 'default.token_costs': ['type'] }],
      [
        'a method that is not in capitals',
        { token_costs: { cdrs: { get: 50 }, users: { Put: 2 } } },
        { 'default.token_costs.cdrs.get': ['invalid'], 'default.token_costs.users.Put': ['invalid'] },
      ],
      ['part of a token', { token_costs: { cdrs: 1.5 } }, { 'default.token_costs.cdrs': ['type'] }],
      [
        'a price that is none at any depth',
        { token_costs: { devices: { GET: -2, PUT: 'x' } } },
        { 'default.token_costs.devices.PUT': ['type'] },
      ],
      [
        'several things at once',
        { pagination_page_size: 0, reverse_proxies: ['x'] },
        { 'default.pagination_page_size': ['minimum'], 'default.reverse_proxies.0': ['wrong_format'] },
      ],
    ]

    it.each(refusals)('%s, and changes nothing', async (_title, values, broken) => {
      const before = await world.snapshot()
      expect(await world.operator.patch(`${all}/crossbar`, { default: values })).toBreak(broken)
      const inSection = Object.fromEntries(
        Object.entries(broken).map(([path, rules]) => [path.replace('default.', ''), rules]),
      )
      expect(await world.operator.patch(`${all}/crossbar/default`, values)).toBreak(inSection)
      expect(await world.snapshot()).toEqual(before)
    })

    it('a time zone that is none', async () => {
      const before = await world.snapshot()
      expect(
        await world.operator.post(`${all}/crossbar.accounts`, {
          default: { default_timezone: 'Mars/Olympus' },
        }),
      ).toBreak({ 'default.default_timezone': ['enum'] })
      expect(await world.snapshot()).toEqual(before)
    })

    it.each(['%20', 'a%2Fb', '__proto__', 'constructor', 'x'.repeat(129), '%00', '../etc', '-x'])(
      'the name %s',
      async (name) => {
        const before = await world.snapshot()
        const answer = await world.operator.post(`${all}/${name}`, { default: {} })
        expect([404, 405]).toContain(answer.status)
        expect(await world.snapshot()).toEqual(before)
      },
    )

    it('section names that could not stand in a path', async () => {
      const before = await world.snapshot()
      expect(
        await world.operator.post(`${all}/named`, { default: {}, 'a b': {}, constructor: {}, 'x/y': {} }),
      ).toBreak({ 'a b': ['invalid'], constructor: ['invalid'], 'x/y': ['invalid'] })
      expect(await world.operator.post(`${all}/named`, { default: {}, other: 5 })).toBreak({
        other: ['type'],
      })
      expect(await world.snapshot()).toEqual(before)
    })

    it('every caller except admins of a superduper account, and changes nothing', async () => {
      const plain = await world.user(world.master)
      const before = await world.snapshot()
      for (const person of [world.ada, world.uli, world.rex, world.ross, world.acmeKey, plain]) {
        expect(await person.get(all)).toFailWith(403, 'forbidden')
        expect(await person.get(`${all}/crossbar`)).toFailWith(403, 'forbidden')
        expect(await person.get(`${all}/crossbar/default`)).toFailWith(403, 'forbidden')
        expect(await person.put(`${all}/crossbar`, { default: {} })).toFailWith(403, 'forbidden')
        expect(await person.post(`${all}/crossbar`, { default: {} })).toFailWith(403, 'forbidden')
        expect(await person.patch(`${all}/crossbar/default`, {})).toFailWith(403, 'forbidden')
        expect(await person.delete(`${all}/crossbar`)).toFailWith(403, 'forbidden')
      }
      expect(await world.anonymous.get(all)).toFailWith(401, 'invalid_credentials')
      expect(await world.snapshot()).toEqual(before)
    })

    it('an account in the path', async () => {
      const path = `${world.acme.path}/system_configs`
      expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
      expect(await world.operator.post(`${path}/crossbar`, { default: {} })).toFailWith(404, 'bad_identifier')
      expect(await world.operator.get(`${path}/crossbar/default`)).toFailWith(404, 'bad_identifier')
    })

    it('a change of a document that has changed since it was read', async () => {
      await world.operator.post(`${all}/raced`, { default: { a: 1 } })
      const { headers } = await world.operator.get(`${all}/raced`)
      await world.operator.post(`${all}/raced`, { default: { a: 2 } })
      const etag = String(headers.etag)
      expect(
        (await world.operator.post(`${all}/raced`, { default: { a: 3 } }, { headers: { 'if-match': etag } }))
          .status,
      ).toBe(412)
      expect((await world.operator.get(`${all}/raced`)).data.default).toEqual({ a: 2 })
      await world.operator.delete(`${all}/raced`)
    })
  })

  it('masks secrets in answers and in the audit log', async () => {
    const path = `${all}/services.http_sync`
    const url = { http_url: 'https://a.test' }
    const secrets = { signing_secret: 'hush-hush-1', authorization_header: 'hush-hush-2' }
    const masks = { signing_secret: '***', authorization_header: '***' }
    const vendors = (held: object) => ({ vendors: { [world.reseller.id]: { ...url, ...held } } })
    const shown = { id: 'services.http_sync', default: { ...url, ...masks, ...vendors(masks) } }
    expect(
      await world.operator.post(path, { default: { ...url, ...secrets, ...vendors(secrets) } }),
    ).toSucceedWith(shown)
    expect((await world.operator.get(path)).data.default).toMatchObject(shown.default)
    expect((await world.operator.get(`${path}/default`)).data).toMatchObject(shown.default)
    const filled = await world.operator.get(`${path}?with_defaults=true`)
    const listed = await world.operator.get(`${all}?full_docs=true&fields=default&paginate=false`)
    for (const answer of [filled, listed]) expect(answer.text).not.toContain('hush')
    const audit = await world.server.store.all('SELECT * FROM audit_log')
    expect(JSON.stringify(audit)).toContain('services.http_sync')
    expect(JSON.stringify(audit)).not.toContain('hush')
    expect((await world.operator.delete(path)).text).not.toContain('hush')
  })

  it('keeps a secret that comes back masked, empty or not at all, and removes one that is null', async () => {
    const path = `${all}/services.stripe`
    const kept = async () =>
      (await world.server.store.records.find('system', 'system_config', 'services.stripe'))?.doc
    const first = { api_key: 'sk_hush_1', webhook_secret: 'whsec_hush', publishable_key: 'pk_open' }
    await world.operator.post(path, { default: first })
    await world.operator.post(path, { default: { api_key: '***', publishable_key: 'pk_new' } })
    const second = { ...first, publishable_key: 'pk_new' }
    expect(await kept()).toEqual({ default: second })
    await world.operator.patch(path, { default: { webhook_secret: '***', timeout_ms: 900 } })
    expect(await kept()).toEqual({ default: { ...second, timeout_ms: 900 } })
    await world.operator.post(`${path}/default`, { ...second, api_key: 'sk_hush_2', webhook_secret: '***' })
    expect(await kept()).toEqual({ default: { ...second, api_key: 'sk_hush_2' } })
    await world.operator.patch(path, { default: { webhook_secret: null } })
    expect(await kept()).toEqual({ default: { api_key: 'sk_hush_2', publishable_key: 'pk_new' } })
    await world.operator.post(path, { default: { api_key: '', publishable_key: 'pk_new' } })
    expect(await kept()).toEqual({ default: { api_key: 'sk_hush_2', publishable_key: 'pk_new' } })
    await world.operator.patch(path, { default: { api_key: null } })
    expect(await kept()).toEqual({ default: { publishable_key: 'pk_new' } })
    await world.operator.delete(path)
  })

  it('masks what is called like a secret in documents that it does not know', async () => {
    const path = `${all}/unknown`
    await world.operator.put(path, {
      default: { list: [{ password: 'hush' }], private_key: 'hush', open: 1 },
    })
    expect((await world.operator.get(path)).data).toEqual({
      id: 'unknown',
      default: { list: [{ password: '***' }], private_key: '***', open: 1 },
    })
    await world.operator.delete(path)
  })

  it('still shows the operator the secret of the ingest', async () => {
    const { data } = await world.operator.get(`${all}/ingest`)
    expect(data.default.freeswitch_secret).toMatch(/^[\w-]{32}$/)
  })

  it('lists names as CSV too', async () => {
    await world.operator.post(`${all}/listed`, { default: {} })
    const answer = await world.operator.get(all, { headers: { accept: 'text/csv' } })
    expect(answer.text.split('\r\n')).toContain('listed')
    expect(answer.text.split('\r\n')[0]).toBe('id')
    await world.operator.delete(`${all}/listed`)
  })
})
