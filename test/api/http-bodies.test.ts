// What a request body may look like.
import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { openRaw } from '../support/servers/raw-connection.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const jsonRefusal = (message: unknown = expect.any(String)) => ({
  json: { invalid: { message, target: 'body' } },
})
const name = { first_name: 'A', last_name: 'B' }

describeAnyEngine('request bodies', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const putText = (body: string | Uint8Array, contentType?: string) =>
    world.unchanged(() =>
      world.ada.put(users(), undefined, {
        body,
        headers: contentType ? { 'content-type': contentType } : {},
      }),
    )

  it('must be JSON', async () => {
    for (const body of ['{"data":', 'lol', '{"data":{"a":1,}}', '\u0000', "{'data':{}}", '{"data":{}} x'])
      expect(await putText(body)).toFailWith(400, 'validation error', jsonRefusal())
  })

  const notUtf8 = (place: 'body' | 'query') => ({
    [place]: {
      invalid: { message: `The ${place} must be UTF-8, without another declared charset`, target: 'utf-8' },
    },
  })
  const named = (bytes: string) => Buffer.from(`{"data":{"first_name":"A","last_name":"${bytes}"}}`, 'latin1')
  const part = (bytes: string, type = '') =>
    Buffer.from(
      `--x\r\ncontent-disposition: form-data; name="last_name"\r\n${type}\r\n${bytes}\r\n--x--`,
      'latin1',
    )
  const json = 'application/json'
  const form = 'application/x-www-form-urlencoded'
  const multipart = 'multipart/form-data; boundary=x'

  it.each<[string, string, Buffer]>([
    ['an invalid start byte', json, named('\xff')],
    ['an incomplete character', json, named('\xc3(')],
    ['an encoded surrogate', json, named('\xed\xa0\x80')],
    ['Latin-1', json, named('M\xfcller')],
    ['UTF-16', json, Buffer.from([0xff, 0xfe, 0x7b, 0])],
    ['another declared charset', `${json}; charset=ISO-8859-1`, named('Mueller')],
    ['a form in Latin-1', form, Buffer.from('last_name=M%FCller')],
    ['raw bytes in a form', form, Buffer.from('last_name=M\xfcller', 'latin1')],
    ['a part in Latin-1', multipart, part('M\xfcller')],
    [
      'a part with another declared charset',
      multipart,
      part('a', 'content-type: text/plain; charset=latin1\r\n'),
    ],
  ])('with %s are rejected, and nothing is stored', async (_title, type, body) => {
    const headers = { 'content-type': type }
    const answer = await world.refused(() => world.ada.put(users(), undefined, { body, headers }))
    expect(answer).toFailWith(400, 'validation error', notUtf8('body'))
  })

  it.each<[string, string]>([
    [json, 'Müller'],
    [`${json}; charset=utf-8`, 'Müller'],
    [`${json}; charset="UTF-8"`, '名前'],
    [`${json}; charset=us-ascii`, 'Mueller'],
  ])('of type %s are accepted in UTF-8', async (type, name) => {
    const body = Buffer.from(`\ufeff{"data":{"first_name":"A","last_name":"${name}"}}`)
    const answer = await world.ada.put(users(), undefined, { body, headers: { 'content-type': type } })
    expect(answer).toSucceed()
    expect(answer.data.last_name).toBe(name)
  })

  /** Sends a query as bytes that are not percent-encoded. */
  const raw = async (query: string) => {
    const connection = await openRaw(world.server.port)
    const head = [
      `GET ${users()}?${query} HTTP/1.1`,
      'host: x',
      `x-auth-token: ${world.ada.token}`,
      'connection: close',
    ]
    connection.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'))
    await connection.closed
    const [answer] = connection.answers()
    return { status: answer?.status, data: JSON.parse(answer?.body ?? '{}').data }
  }

  it('and queries in another encoding are rejected, in UTF-8 accepted', async () => {
    for (const query of ['filter_last_name=M%FCller', 'filter_last_name=%c3%28'])
      expect(await world.ada.get(users(), { query })).toFailWith(400, 'validation error', notUtf8('query'))
    for (const bytes of ['M\xfcller', 'Gr\xc3\xb6\xc3\x9fe'])
      expect(await raw(`filter_last_name=${bytes}`)).toEqual({
        status: 400,
        data: { message: 'this is not an HTTP request' },
      })
    expect((await raw('filter_last_name=Gr%C3%B6%C3%9Fe')).status).toBe(200)
    const made = await world.ada.put(users(), { first_name: 'A', last_name: 'Größe' })
    expect((await world.ada.get(users(), { query: 'filter_last_name=Gr%C3%B6%C3%9Fe' })).data).toMatchObject([
      { id: made.data.id },
    ])
  })

  it('keep integers exactly, or are rejected', async () => {
    const numbered = (number: string) =>
      Buffer.from(`{"data":{"first_name":"A","last_name":"B","custom":${number}}}`)
    const put = (number: string) => world.ada.put(users(), undefined, { body: numbered(number) })
    const kept: [string, unknown][] = [
      ['9007199254740991', 9007199254740991],
      ['-9007199254740991', -9007199254740991],
      ['9007199254740991.0', 9007199254740991],
      ['0.1234567890123456789', 0.12345678901234568],
      ['1e15', 1e15],
      ['1e-300', 1e-300],
      ['[1,2]', [1, 2]],
      ['"12345678901234567890"', '12345678901234567890'],
    ]
    for (const [number, value] of kept) {
      const made = await put(number)
      expect(made).toSucceed()
      expect(made.data.custom).toEqual(value)
    }
    for (const number of [
      '9007199254740992',
      '-9007199254740993',
      '[1,12345678901234567890]',
      '9007199254740993.0',
      '9007199254740993e0',
      '0.9007199254740993e16',
      '1e300',
    ])
      expect(await world.refused(() => put(number))).toFailWith(400, 'validation error', {
        json: {
          invalid: {
            message: 'contains an integer beyond 9007199254740991: send it as a string',
            target: 'body',
          },
        },
      })
  })

  it('with more values than a record may have are rejected, whatever their content type', async () => {
    const limit = 20_000
    const body = JSON.stringify({
      data: { ...name, many: Array.from({ length: 60_000 }, (_, at) => `value ${at}`) },
    })
    const user = await world.user(world.acme)
    for (const type of [json, form, multipart])
      for (const send of [
        () => world.ada.put(users(), undefined, { body, headers: { 'content-type': type } }),
        () => world.ada.post(user.path, undefined, { body, headers: { 'content-type': type } }),
      ]) {
        const answer = await world.refused(send)
        expect(answer).toFailWith(413, 'record_too_large')
        expect(answer.data).toMatchObject({ cause: 'users', target: limit })
      }
  })

  it('must not name a key twice', async () => {
    const twice = jsonRefusal('an object contains a key twice')
    const bodies = [
      '{"data":{"first_name":"A","first_name":"B"}}',
      '{"data":{},"data":{}}',
      '{"data":{"first_name":"A","last_name":"B","caller_id":{"internal":{"name":"a","name":"b"}}}}',
      '{"data":{"flags":[{"a":1,"\\u0061":2}]}}',
    ]
    for (const body of bodies) expect(await putText(body)).toFailWith(400, 'validation error', twice)
  })

  it('must not have the key __proto__, wherever it is and however it is written', async () => {
    const refusal = jsonRefusal('an object has the key __proto__, which cannot be stored: remove it')
    const bodies = [
      '{"data":{"first_name":"A","last_name":"B","__proto__":{"polluted":1}}}',
      '{"data":{"first_name":"A","last_name":"B","own":[{"a":{"\\u005f_proto__":1}}]}}',
      '{"data":{"first_name":"A","last_name":"B"},"__proto__":{}}',
    ]
    for (const body of bodies)
      expect(await world.refused(() => putText(body))).toFailWith(400, 'validation error', refusal)
  })

  it('must be an envelope with data', async () => {
    const missing = { data: { required: { message: 'Field is required but missing', value: 'data' } } }
    expect(await putText('{}')).toFailWith(400, 'validation error', missing)
    expect(await putText('{"dat":{}}')).toFailWith(400, 'validation error', missing)
    for (const body of ['[]', '5', 'null', '"data"'])
      expect(await putText(body)).toFailWith(400, 'validation error', jsonRefusal())
  })

  it('must have an object or an array as data', async () => {
    for (const data of [5, 'text', true, null]) {
      expect(await putText(JSON.stringify({ data }))).toFailWith(400, 'validation error', {
        data: { type: { message: expect.any(String), target: 'object, array', value: data } },
      })
    }
  })

  it('may be empty: the schema then names what is missing', async () => {
    const answer = await world.unchanged(() => world.ada.put(users()))
    const required = (value: string) => ({
      required: { message: 'Field is required but missing', value },
    })
    expect(answer).toFailWith(400, 'validation error', {
      first_name: required('first_name'),
      last_name: required('last_name'),
    })
  })

  it('has envelope keys in any case, with dashes or underscores', async () => {
    const body = JSON.stringify({ DATA: name, 'Auth-Token': world.ada.token, 'PRETTY-print': true })
    const answer = await world.anonymous.put(users(), undefined, { body })
    expect(answer).toSucceed()
    expect(answer.text).toContain('\n  "data": {')
  })

  it('keeps the keys inside data as they are', async () => {
    const data = { ...name, 'Some-Key': 1, some_key: 2, SOME_KEY: 3 }
    const made = await world.ada.put(users(), data)
    expect(made.data).toMatchObject(data)
  })

  it('is JSON when no type, or a form type, is given', async () => {
    const body = JSON.stringify({ data: name })
    const types = [
      undefined,
      'application/json',
      'application/json; charset=utf-8',
      'application/x-json',
      'APPLICATION/JSON',
      'application/x-www-form-urlencoded',
    ]
    for (const type of types) {
      const headers = type ? { 'content-type': type } : {}
      expect(await world.ada.put(users(), undefined, { body, headers })).toSucceed()
    }
  })

  it('may be a JSON merge patch in a PATCH, in an envelope or without one', async () => {
    const user = await world.user(world.acme, { first_name: 'Ann', custom: { a: 1, b: 2 } })
    const headers = { 'content-type': 'application/merge-patch+json' }
    const patch = (body: object) =>
      world.ada.patch(user.path, undefined, { body: JSON.stringify(body), headers })
    expect((await patch({ first_name: 'Bea', custom: { a: null } })).data).toMatchObject({
      first_name: 'Bea',
      custom: { b: 2 },
    })
    expect((await patch({ data: { custom: { b: 3 } } })).data).toMatchObject({ custom: { b: 3 } })
    const body = JSON.stringify({ data: name })
    expect(await world.unchanged(() => world.ada.put(users(), undefined, { body, headers }))).toFailWith(
      415,
      'unsupported_media_type',
      expect.anything(),
    )
  })

  it('may be a form, whose fields are the data', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const made = await world.ada.put(users(), undefined, {
      body: 'first_name=F%C3%A9&last_name=G+H',
      headers,
    })
    expect(made).toSucceed()
    expect(made.data).toMatchObject({ first_name: 'Fé', last_name: 'G H' })
  })

  it('may be a multipart form', async () => {
    const part = (field: string, value: string) =>
      `--edge\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`
    const body = `${part('first_name', 'Multi')}${part('last_name', 'Part')}--edge--\r\n`
    const headers = { 'content-type': 'multipart/form-data; boundary=edge' }
    const made = await world.ada.put(users(), undefined, { body, headers })
    expect(made.data).toMatchObject({ first_name: 'Multi', last_name: 'Part' })
    const broken = await putText('--edge\r\nlol', 'multipart/form-data; boundary=edge')
    expect(broken).toFailWith(400, 'validation error')
  })

  it('may begin with a byte order mark', async () => {
    const body = `\ufeff${JSON.stringify({ data: name })}`
    expect(await world.ada.put(users(), undefined, { body })).toSucceed()
  })

  it('must not be compressed, wherever it goes', async () => {
    const refusal = { message: expect.stringContaining('Content-Encoding'), target: ['identity'] }
    const sent = (path: string, type: string, encoding: string) =>
      world.operator.put(path, undefined, {
        body: gzipSync(JSON.stringify({ data: name })),
        headers: { 'content-type': type, 'content-encoding': encoding },
      })
    const importing = '/v2/tasks?category=rates&action=import'
    for (const [path, type] of [
      [users(), 'application/json'],
      [importing, 'text/csv'],
    ] as const)
      for (const encoding of ['gzip', 'BR', 'gzip, identity'])
        expect(await world.unchanged(() => sent(path, type, encoding))).toFailWith(
          415,
          'unsupported_media_type',
          refusal,
        )
    const plain = { body: JSON.stringify({ data: name }), headers: { 'content-encoding': 'Identity' } }
    expect(await world.ada.put(users(), undefined, plain)).toSucceed()
  })

  it('is refused when nested deeper than any record', async () => {
    const body = `{"data":${'['.repeat(5000)}${']'.repeat(5000)}}`
    expect(await putText(body)).toFailWith(400, 'validation error', jsonRefusal())
  })

  it('are refused over the limit, with or without Content-Length, before the server checks the token', async () => {
    await world.configure('crossbar', { max_upload_size: 2000 })
    const body = JSON.stringify({ data: { ...name, note: 'x'.repeat(2000) } })
    const tooLarge = { file: { maxSize: { message: expect.any(String), target: 2000 } } }
    for (const headers of [{}, { 'transfer-encoding': 'chunked', 'content-length': [] as string[] }]) {
      const answer = await world.unchanged(() => world.anonymous.put(users(), undefined, { body, headers }))
      expect(answer).toFailWith(413, 'validation error', tooLarge)
    }
    expect(await world.ada.put(users(), { ...name, note: 'x'.repeat(1500) })).toSucceed()
    await world.configure('crossbar', { max_upload_size: 8_000_000 })
  })

  it('answers CONNECT in an envelope and closes the connection, after the answers in progress', async () => {
    for (const before of ['', 'GET /v2/about HTTP/1.1\r\nhost: x\r\n\r\n']) {
      const raw = await openRaw(world.server.port)
      raw.write(`${before}CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\nthe server ignores this`)
      await raw.closed
      const answer = raw.answers().at(-1)
      expect(raw.answers()).toHaveLength(before === '' ? 1 : 2)
      expect(answer?.status).toBe(405)
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({
        status: 'error',
        error: '405',
        message: 'invalid_method',
        data: { message: 'method not allowed' },
      })
    }
  })

  it('answers what is no HTTP at all in an envelope', async () => {
    const socket = createConnection(world.server.port, '127.0.0.1')
    socket.end('LOL\r\n\r\n')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/access-control-allow-origin: \*/i)
    const envelope = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Json
    expect(envelope).toMatchObject({ status: 'error', error: '400', message: 'parse_error' })
  })
})

describeAnyEngine('fields of a record', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const read = async (path: string) => (await world.ada.get(path)).data as Json

  it('are hidden and refused when private', async () => {
    const secret = { _id: 'x', _read_only: { a: 1 }, pvt_account_id: world.rival.id, pvt_tree: [] }
    const made = await world.ada.put(users(), { ...name, ...secret })
    expect(made).toSucceed()
    expect(made.data).not.toHaveProperty('_id')
    expect(made.data).not.toHaveProperty('pvt_account_id')
    const stored = (await world.snapshot()).records?.find((row) => row.includes(made.data.id))
    expect(stored).not.toMatch(/_read_only|pvt_/)
  })

  it('are kept when the schema does not know them', async () => {
    const custom = { shoe_size: 45, nested: { 'dotted.key': [1, { two: null }] }, 'ünïcode 🦄': true }
    const made = await world.ada.put(users(), { ...name, ...custom })
    expect(await read(`${users()}/${made.data.id}`)).toMatchObject({
      ...custom,
      nested: { 'dotted.key': [1, {}] },
    })
  })

  it('are refused when no store could keep them as text', async () => {
    for (const last_name of ['a\\u0000b', '\\ud800', '\\udc00\\ud800']) {
      const body = `{"data":{"first_name":"A","last_name":"${last_name}"}}`
      const answer = await world.unchanged(() => world.ada.put(users(), undefined, { body }))
      expect(answer).toBreak({ last_name: ['invalid'] })
    }
  })

  it('may be named like members of every object', async () => {
    const made = await world.ada.put(users(), { ...name, constructor: { a: 1 }, toString: 'x' })
    expect(made).toSucceed()
    expect(made.data).toMatchObject({ constructor: { a: 1 }, toString: 'x' })
  })

  it('leave with null in a PATCH, and others stay', async () => {
    const caller_id = { internal: { name: 'In', number: '1' }, external: { name: 'Ex', number: '2' } }
    const made = await world.ada.put(users(), { ...name, caller_id, flags: ['a', 'b'], note: 'n' })
    const path = `${users()}/${made.data.id}`
    const change = { caller_id: { internal: { name: null }, external: null }, flags: ['c'], note: null }
    const patched = await world.ada.patch(path, change)
    const { note, ...rest } = made.data
    expect(note).toBe('n')
    expect(patched).toSucceedWith({
      ...rest,
      caller_id: { internal: { number: '1' } },
      flags: ['c'],
      modified: patched.data.modified,
    })
    expect(await read(path)).toEqual(patched.data)
  })

  it('must not leave by PATCH when they are required', async () => {
    const answer = await world.unchanged(() => world.ada.patch(world.uli.path, { first_name: null }))
    expect(answer).toBreak({ first_name: ['required'] })
  })

  it('are dropped by PUT and POST when they are null', async () => {
    const made = await world.ada.put(users(), { ...name, email: null, caller_id: { internal: null } })
    expect(made).toSucceed()
    expect(made.data).not.toHaveProperty('email')
    expect(made.data.caller_id).not.toHaveProperty('internal')
    const posted = await world.ada.post(`${users()}/${made.data.id}`, { ...name, timezone: null })
    expect(posted.data).not.toHaveProperty('timezone')
  })

  it('are replaced as a whole by POST', async () => {
    const made = await world.ada.put(users(), { ...name, note: 'gone', email: 'a@b.example' })
    const posted = await world.ada.post(`${users()}/${made.data.id}`, { ...name, first_name: 'C' })
    expect(posted.data.first_name).toBe('C')
    expect(posted.data).not.toHaveProperty('note')
    expect(posted.data).not.toHaveProperty('email')
  })

  it('are cast from text where a number or boolean is wanted, unless the operator is strict', async () => {
    const data = { ...name, enabled: 'false', call_limits: { max_concurrent: '5' } }
    const made = await world.ada.put(users(), data)
    expect(made.data).toMatchObject({ enabled: false, call_limits: { max_concurrent: 5 } })
    await world.configure('crossbar', { schema_strict_validation: true })
    const refused = await world.unchanged(() => world.ada.put(users(), data))
    expect(refused).toBreak({ enabled: ['type'], 'call_limits.max_concurrent': ['type'] })
    await world.configure('crossbar', { schema_strict_validation: false })
  })

  it('are validated together, each by its dotted path', async () => {
    const answer = await world.unchanged(() =>
      world.ada.put(users(), {
        last_name: '',
        email: 'not-mail',
        caller_id: { internal: { name: 'x'.repeat(36) } },
        flags: ['ok', 5],
        media: { audio: { codecs: ['PCMU', 'PCMU'] } },
        dial_plan: 7,
      }),
    )
    expect(answer).toBreak({
      first_name: ['required'],
      last_name: ['minLength'],
      email: ['wrong_format'],
      'caller_id.internal.name': ['maxLength'],
      'flags.1': ['type'],
      'media.audio.codecs': ['uniqueItems'],
      dial_plan: ['type'],
    })
  })
})
