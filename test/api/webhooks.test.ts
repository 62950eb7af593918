// Webhooks of accounts: the records, and the requests about them.
import { expect, it } from 'vitest'
import { useHooks } from '../support/world/webhooks.ts'
import { describeEngines } from '../support/world/world.ts'

const sound = {
  name: 'Provisioning',
  uri: 'https://203.0.113.7/hooks',
  hook: 'object',
  custom_data: { type: 'all', action: 'all' },
}

describeEngines('webhooks', (engine) => {
  const { world, hook, hooksOf } = useHooks(engine)

  it('are listed by kind without a token, with the schema of their custom_data', async () => {
    const answer = await world.anonymous.get('/v2/webhooks')
    expect(answer.status).toBe(200)
    const kinds = answer.data as { id: string; modifiers: object }[]
    expect(kinds.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        'all',
        'cdr',
        'channel_answer',
        'channel_bridge',
        'channel_create',
        'channel_destroy',
        'channel_hold',
        'channel_unhold',
        'mms',
        'notifications',
        'object',
        'parking',
        'sms',
        'stream',
      ]),
    )
    expect(kinds.find(({ id }) => id === 'object')?.modifiers).toMatchObject({
      type: { items: expect.arrayContaining(['account', 'user', 'device', 'all']) },
      action: { items: ['all', 'doc_created', 'doc_edited', 'doc_deleted'] },
    })
  })

  it('have public samples, and 404 where there are none', async () => {
    const names = await world.anonymous.get('/v2/webhooks/samples')
    expect(names.data).toEqual(['all', 'cdr', 'notifications', 'object'])
    const objects = await world.anonymous.get('/v2/webhooks/samples/object')
    expect(objects.data[0]).toMatchObject({ hook_event: 'object', type: 'user', action: 'doc_created' })
    const edited = await world.anonymous.get('/v2/webhooks/samples/object', {
      query: { filter_action: 'doc_edited' },
    })
    expect(edited.data).toHaveLength(1)
    expect(await world.anonymous.get('/v2/webhooks/samples/nothing')).toFailWith(404, 'bad_identifier')
  })

  it('need a name, an address and a hook, and fill in the rest', async () => {
    const empty = await world.unchanged(() => world.ada.put(hooksOf(world.acme), {}))
    expect(empty).toBreak({ name: ['required'], uri: ['required'], hook: ['required'] })
    const made = await world.ada.put(hooksOf(world.acme), sound)
    expect(made.status).toBe(201)
    expect(made.data).toEqual({
      id: made.data.id,
      ...sound,
      http_verb: 'post',
      format: 'form-data',
      retries: 2,
      enabled: true,
      include_subaccounts: false,
      include_internal_legs: true,
      version: 'v1',
    })
    expect((await world.ada.get(`${hooksOf(world.acme)}/${made.data.id}`)).data).toEqual(made.data)
  })

  it('show in rows what they are, and whether they are switched off', async () => {
    const { id } = await hook(world.rival, { name: 'A row' })
    const rows = (await world.operator.get(hooksOf(world.rival))).data as { id: string }[]
    expect(rows.find((row) => row.id === id)).toEqual({
      id,
      name: 'A row',
      enabled: true,
      hook: 'object',
      uri: expect.stringMatching(/^http/),
      http_verb: 'post',
      format: 'json',
      version: 'v1',
      include_subaccounts: false,
    })
  })

  it.each([
    [{ http_verb: 'delete' }, { http_verb: ['enum'] }],
    [{ format: 'xml' }, { format: ['enum'] }],
    [{ version: 'v3' }, { version: ['enum'] }],
    [{ retries: 5 }, { retries: ['maximum'] }],
    [{ uri: '' }, { uri: ['minLength', 'wrong_format'] }],
    [{ uri: 'no address' }, { uri: ['wrong_format'] }],
    [{ hook: 'nothing_known' }, { hook: ['enum'] }],
    [{ custom_data: { type: 1 } }, { 'custom_data.type': ['type'] }],
    [{ custom_data: { action: 'all' } }, { 'custom_data.type': ['required'] }],
    [{ custom_data: { type: 'all' } }, { 'custom_data.action': ['required'] }],
    [{ custom_data: { type: 'shoe', action: 'all' } }, { 'custom_data.type': ['enum'] }],
    [{ custom_data: { type: 'all', action: 'worn' } }, { 'custom_data.action': ['enum'] }],
    [{ hook: 'notifications', custom_data: {} }, { 'custom_data.type': ['required'] }],
    [{ hook: 'notifications', custom_data: { type: 'no_notice' } }, { 'custom_data.type': ['enum'] }],
    [{ custom_request_headers: { 'a b': 'c' } }, { 'custom_request_headers.a b': ['additionalProperties'] }],
    [{ custom_request_headers: { a: 'b\r\nc: d' } }, { 'custom_request_headers.a': ['pattern'] }],
    [{ custom_request_headers: { Host: 'a' } }, { 'custom_request_headers.Host': ['forbidden'] }],
  ])('are refused with %j', async (fields, broken) => {
    const answer = await world.unchanged(() => world.ada.put(hooksOf(world.acme), { ...sound, ...fields }))
    expect(answer).toBreak(broken)
  })

  it('name the kinds of record that there are when one is unknown', async () => {
    const answer = await world.ada.put(hooksOf(world.acme), {
      ...sound,
      custom_data: { type: 'shoe', action: 'all' },
    })
    expect(answer.data['custom_data.type'].enum.target).toEqual(
      expect.arrayContaining(['account', 'callflow', 'device', 'faxbox', 'media', 'user', 'vmbox', 'all']),
    )
  })

  it('are limited to notices for accounts, unless the operator sets them', async () => {
    const data = { ...sound, hook: 'notifications', custom_data: { type: 'webhook_disabled' } }
    expect(await world.unchanged(() => world.ada.put(hooksOf(world.acme), data))).toBreak({
      'custom_data.type': ['enum'],
    })
    expect((await world.operator.put(hooksOf(world.acme), data)).status).toBe(201)
  })

  it.each(['channel_create', 'cdr', 'all', 'user.edited', 'ledger.*'])(
    'take %s as their hook',
    async (name) => {
      const { status, data } = await world.ada.put(hooksOf(world.acme), { ...sound, hook: name })
      expect([status, data.hook]).toEqual([201, name])
    },
  )

  it.each([
    'http://10.0.0.1/',
    'http://127.0.0.2/',
    'http://0:8080/',
    'http://0x7f000002/',
    'http://[::1]/',
    'http://good.example@169.254.169.254/latest',
    'http://[::ffff:10.0.0.1]/',
    'ftp://203.0.113.7/',
    'https:bob:secret@203.0.113.7/',
    'https:/bob:secret@203.0.113.7/',
    'https:///bob:secret@203.0.113.7/',
    'https://user:%ff@203.0.113.7/',
  ])('do not lead to %s', async (uri) => {
    const answer = await world.unchanged(() => world.ada.put(hooksOf(world.acme), { ...sound, uri }))
    expect(answer).toBreak({ uri: ['error'] })
    const { path } = await hook(world.acme)
    expect(await world.unchanged(() => world.ada.patch(path, { uri }))).toBreak({ uri: ['error'] })
  })

  it('do not lead to a name of this machine', async () => {
    await world.configure('crossbar', { allowed_private_hosts: [] })
    const answer = await world.ada.put(hooksOf(world.acme), { ...sound, uri: 'http://localhost:9/' })
    expect(answer).toBreak({ uri: ['error'] })
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
  })

  it('are the business of admins of the account and above alone', async () => {
    const { path } = await hook(world.acme)
    for (const [who, status] of [
      [world.uli, 403],
      [world.rex, 403],
      [world.anonymous, 401],
    ] as const) {
      expect((await who.get(path)).status).toBe(status)
      expect((await world.unchanged(() => who.patch(path, { enabled: false }))).status).toBe(status)
      expect((await world.unchanged(() => who.delete(path))).status).toBe(status)
      expect((await who.get(`${path}/attempts`)).status).toBe(status)
    }
    expect((await world.ross.get(path)).status).toBe(200)
  })

  it('are replaced, changed and removed', async () => {
    const { path, id } = await hook(world.acme)
    const replaced = await world.ada.post(path, { ...sound, name: 'Another', http_verb: 'put' })
    expect(replaced.data).toMatchObject({ id, name: 'Another', http_verb: 'put', format: 'form-data' })
    const patched = await world.ada.patch(path, { custom_data: { action: 'doc_created' } })
    expect(patched.data.custom_data).toEqual({ type: 'all', action: 'doc_created' })
    expect((await world.ada.delete(path)).data.id).toBe(id)
    expect((await world.ada.get(path)).status).toBe(404)
    expect((await world.ada.get(`${path}/attempts`)).status).toBe(404)
  })

  it('keep their secrets sealed, tell them to their admins alone, and lose them by null', async () => {
    const secrets = {
      custom_request_headers: { 'X-Token': 'a-token-of-theirs' },
      security_settings: { sha256_key: 'the-new-key', previous_key: 'the-old-key' },
    }
    const { path, id } = await hook(world.acme, secrets)
    expect((await world.ada.get(path)).data).toMatchObject(secrets)
    const tables = await world.server.store.all(
      'SELECT doc, row_json FROM records WHERE id = $1 UNION ALL SELECT after_doc, changes FROM audit_log WHERE record_id = $1',
      [id],
    )
    expect(JSON.stringify(tables)).not.toMatch(/a-token-of-theirs|the-new-key|the-old-key/)
    const entries = await world.server.store.all<{ text: string }>(
      'SELECT after_doc AS text FROM audit_log WHERE record_id = $1',
      [id],
    )
    expect(JSON.parse(entries[0]?.text ?? '')).toMatchObject({
      custom_request_headers: '***',
      security_settings: { sha256_key: '***', previous_key: '***' },
    })
    await world.ada.patch(path, { security_settings: { previous_key: null }, custom_request_headers: null })
    const { data } = await world.ada.get(path)
    expect(data.security_settings).toEqual({ sha256_key: 'the-new-key' })
    expect(data).not.toHaveProperty('custom_request_headers')
  })

  it('are enabled again by re-enable: true only', async () => {
    for (const path of [hooksOf(world.acme), `${world.acme.path}/descendants/webhooks`]) {
      expect(await world.ada.patch(path, {})).toBreak({ 're-enable': ['required'] })
      expect(await world.ada.patch(path, { 're-enable': false })).toBreak({ 're-enable': ['enum'] })
      expect((await world.ada.patch(path, { 're-enable': true })).data).toBe('hooks updated')
      expect(await world.rex.patch(path, { 're-enable': true })).toFailWith(403, 'forbidden')
    }
  })

  it('are replayed from one attempt or from a sequence, and from nothing else', async () => {
    const { path } = await hook(world.acme)
    const replay = (data: object) => world.unchanged(() => world.ada.post(`${path}/replay`, data))
    expect(await replay({})).toBreak({ attempt_id: ['required'] })
    expect(await replay({ after: 'yesterday' })).toBreak({ after: ['minLength', 'pattern'] })
    const both = { attempt_id: 'a'.repeat(32), after: '0'.repeat(16) }
    expect(await replay(both)).toBreak({ after: ['forbidden'] })
    expect((await replay({ attempt_id: 'a'.repeat(32) })).status).toBe(404)
  })

  it('are published as a schema', async () => {
    const { data } = await world.anonymous.get('/v2/schemas/webhooks')
    expect(data.properties.hook.type).toBe('string')
  })
})
