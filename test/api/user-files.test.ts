// Files of a user that are not JSON.
import { expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const png = qrPng('a face')
const gif = Buffer.from('GIF89a then some')
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(20)])

describeAnyEngine('the photo of a user', (engine) => {
  const world = useWorld(engine)

  const post = (
    path: string,
    body: string | Uint8Array,
    type: string,
    headers: Record<string, string> = {},
  ) => world.ada.post(path, undefined, { body, headers: { 'content-type': type, ...headers } })

  const pictured = async (bytes: Uint8Array = png, type = 'image/png') => {
    const user = await world.user(world.acme)
    expect(await post(`${user.path}/photo`, bytes, type)).toSucceed()
    return { user, path: `${user.path}/photo` }
  }

  const base64At = async (path: string) =>
    (await world.ada.get(path, { headers: { accept: 'application/base64' } })).text

  it('is kept as it was sent, and shown with its type and nothing that could run', async () => {
    const { user, path } = await pictured()
    const shown = await world.uli.get(path)
    expect(shown.status).toBe(200)
    expect(shown.headers).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-length': String(png.length),
    })
    expect(await base64At(path)).toBe(png.toString('base64'))
    expect((await world.ada.get(user.path)).data.has_avatar).toBe(true)
  })

  it('may come as base64 or as a data URL', async () => {
    const user = await world.user(world.acme)
    const path = `${user.path}/photo`
    expect(await post(path, png.toString('base64'), 'application/base64')).toSucceedWith({
      content_type: 'image/png',
      size: png.length,
    })
    const url = `data:image/gif;base64,${gif.toString('base64')}`
    expect(await post(path, url, 'application/x-base64')).toSucceedWith({
      content_type: 'image/gif',
      size: gif.length,
    })
    const encoded = { 'content-transfer-encoding': 'base64' }
    expect(await post(path, jpeg.toString('base64'), 'image/jpeg', encoded)).toSucceedWith({
      content_type: 'image/jpeg',
      size: jpeg.length,
    })
    expect(await base64At(path)).toBe(jpeg.toString('base64'))
  })

  it('is shown as plain bytes where that is asked for', async () => {
    const { path } = await pictured()
    const shown = await world.ada.get(path, { headers: { accept: 'application/octet-stream' } })
    expect(shown.headers['content-type']).toBe('application/octet-stream')
  })

  it('is gone after its removal', async () => {
    const { user, path } = await pictured()
    expect(await world.ada.delete(path)).toSucceedWith({ content_type: 'image/png', size: png.length })
    const missing = { message: 'bad identifier', cause: user.id }
    expect(await world.ada.get(path)).toFailWith(404, 'bad_identifier', missing)
    expect(await world.ada.delete(path)).toFailWith(404, 'bad_identifier', missing)
    expect((await world.ada.get(user.path)).data.has_avatar).toBe(false)
  })

  it('goes with its user', async () => {
    const { user } = await pictured()
    expect(await world.ada.delete(user.path)).toSucceed()
    expect(await world.server.store.all('SELECT kind FROM records WHERE id = $1', [user.id])).toEqual([])
  })

  it('survives a change of the user', async () => {
    const { user, path } = await pictured()
    await world.ada.post(user.path, { first_name: 'New', last_name: 'Name', has_avatar: false })
    expect((await world.ada.get(user.path)).data.has_avatar).toBe(true)
    expect((await world.ada.get(path)).status).toBe(200)
  })

  it('must be the image that its type declares', async () => {
    const { path } = await pictured()
    const script = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    await world.unchanged(async () => {
      expect(await post(path, script, 'image/png')).toBreak({ file: ['invalid'] })
      expect(await post(path, gif, 'image/png')).toBreak({ file: ['invalid'] })
      expect(await post(path, script, 'application/octet-stream')).toBreak({ file: ['invalid'] })
      expect(await post(path, script, 'image/svg+xml')).toFailWith(415, 'unsupported_media_type')
      expect(await post(path, script, 'text/html')).toFailWith(415, 'unsupported_media_type')
      expect(await post(path, '%%%', 'application/base64')).toBreak({ file: ['encoding'] })
      expect(await world.ada.post(path, {})).toBreak({ file: ['required'] })
      const large = Buffer.concat([png, Buffer.alloc(2_000_000)])
      expect(await post(path, large, 'image/png')).toFailWith(413, 'validation error')
    })
  })

  it('can be seen and changed only by those with access', async () => {
    const { path } = await pictured()
    await world.unchanged(async () => {
      expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
      expect(await world.rex.delete(path)).toFailWith(403, 'forbidden')
      expect(await world.anonymous.get(path)).toFailWith(401, 'invalid_credentials')
    })
  })
})

describeAnyEngine('the vCard of a user', (engine) => {
  const world = useWorld(engine)

  it('returns the known data of them', async () => {
    await world.operator.patch(world.acme.path, { org: 'Acme; Sons, Ltd' })
    const user = await world.user(world.acme, {
      first_name: 'Zoë',
      last_name: 'Müller',
      email: 'zoe@acme.test',
      caller_id: { external: { number: '+14155550100' } },
      profile: {
        title: 'Chief',
        role: 'Lead',
        note: 'Line one\nBEGIN:VCARD',
        nicknames: ['Zo', 'Z'],
        birthday: '1990-01-05',
        'sort-string': 'Muller',
        addresses: [{ address: '1 Main St', types: ['work', 'x:y'] }],
      },
    })
    const answer = await world.uli.get(`${user.path}/vcard`)
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('text/x-vcard')
    expect(answer.text).toBe(
      [
        'BEGIN:VCARD',
        'VERSION:3.0',
        'N:Müller;Zoë;;;',
        'FN:Zoë Müller',
        'ORG:Acme\\; Sons\\, Ltd',
        'EMAIL:zoe@acme.test',
        'TEL:+14155550100',
        'ADR;TYPE=work:;;1 Main St;;;;',
        'NICKNAME:Zo,Z',
        'BDAY:1990-01-05',
        'TITLE:Chief',
        'ROLE:Lead',
        'NOTE:Line one\\nBEGIN:VCARD',
        'SORT-STRING:Muller',
        'END:VCARD',
        '',
      ].join('\r\n'),
    )
  })

  it('holds the photo, on lines of at most 75 octets', async () => {
    const user = await world.user(world.rival)
    await world.rex.post(`${user.path}/photo`, undefined, {
      body: png,
      headers: { 'content-type': 'image/png' },
    })
    const answer = await world.rex.get(`${user.path}/vcard`, { headers: { accept: 'text/directory' } })
    expect(answer.headers['content-type']).toBe('text/directory')
    expect(Math.max(...answer.text.split('\r\n').map((line) => Buffer.byteLength(line)))).toBe(75)
    expect(answer.text.replaceAll('\r\n ', '')).toContain(
      `PHOTO;ENCODING=b;TYPE=PNG:${png.toString('base64')}\r\n`,
    )
    expect(answer.text).toContain(`ORG:${world.rival.name}\r\n`)
  })

  it('can be read only by those with access, and is 404 for an unknown user', async () => {
    expect(await world.rex.get(`${world.uli.path}/vcard`)).toFailWith(403, 'forbidden')
    const missing = `${world.acme.path}/users/${'0'.repeat(32)}/vcard`
    expect(await world.ada.get(missing)).toFailWith(404, 'bad_identifier')
  })
})
