// The specification's whitelabel settings and files.
import { expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const png = qrPng('a logo')
const gif = Buffer.from('GIF89a then some')
const ico = Buffer.concat([Buffer.from([0, 0, 1, 0, 1, 0]), Buffer.alloc(40, 7)])
const hides = { hide_credits: false, hide_powered: false, hide_registration: false }
const missing = (cause: string) => ({ message: 'bad identifier', cause })

let hosts = 0
const freshHost = () => {
  hosts += 1
  return `portal${hosts}.brand.test`
}

describeAnyEngine('whitelabel settings', (engine) => {
  const world = useWorld(engine)
  const pathOf = ({ path }: TestAccount) => `${path}/whitelabel`

  const branded = async (fields: object = {}) => {
    const account = await world.account(world.reseller)
    const domain = freshHost()
    const path = pathOf(account)
    // A host that the operator writes is confirmed: visitors see the brand without DNS.
    expect(await world.operator.put(path, { domain, ...fields })).toSucceed()
    return { account, domain, path }
  }

  it('are made once, read, replaced and removed', async () => {
    const account = await world.account(world.reseller)
    const path = pathOf(account)
    const domain = freshHost()
    expect(await world.ross.get(path)).toFailWith(404, 'bad_identifier', missing('whitelabel'))
    const data = { company_name: 'Acme', domain, nav: { help: 'https://help.acme.test/' }, realm_suffix: 'x' }
    const made = await world.ross.put(path, data)
    expect(made).toSucceedWith({ id: 'whitelabel', ...hides, ...data })
    expect(made.headers.location).toBeUndefined()
    expect(await world.ross.put(path, data)).toFailWith(409, 'datastore_conflict')
    const changed = { ...made.data, company_name: 'Acme Two', ui_metadata: { ui: 'console' } }
    expect(await world.ross.post(path, changed)).toSucceedWith(changed)
    expect(await world.ross.get(path)).toSucceedWith(changed)
    const removed = await world.ross.delete(path)
    expect(removed).toSucceedWith(changed)
    expect(removed.body.metadata).toMatchObject({ id: 'whitelabel', deleted: true })
    for (const answer of [
      await world.ross.get(path),
      await world.ross.post(path, data),
      await world.ross.delete(path),
    ]) {
      expect(answer).toFailWith(404, 'bad_identifier', missing('whitelabel'))
    }
  })

  it('may be empty, and a replacement keeps nothing of what was there', async () => {
    const { path } = await branded({ company_name: 'Acme', nav: { help: 'help.acme.test' } })
    expect(await world.ross.post(path, {})).toSucceedWith({ id: 'whitelabel', ...hides })
  })

  it('hold addresses and hosts that are some, and no scripts', async () => {
    const account = await world.account(world.reseller)
    const path = pathOf(account)
    await world.unchanged(async () => {
      expect(
        await world.ross.put(path, {
          domain: 'not a host',
          conference_public_domain: 'a..b',
          nav: { help: 'javascript:alert(1)', learn_more: 'two words' },
          port: { terms: 'data:text/html,x', support_email: 'nobody', authority: 5 },
          commland: { downloads: { mac: 'JavaScript:1/alert(1)' } },
          hide_powered: 'maybe',
        }),
      ).toBreak({
        domain: ['wrong_format'],
        conference_public_domain: ['wrong_format'],
        'nav.help': ['wrong_format'],
        'nav.learn_more': ['wrong_format'],
        'port.support_email': ['wrong_format'],
        'port.authority': ['type'],
        'commland.downloads.mac': ['wrong_format'],
        hide_powered: ['type'],
      })
    })
    const good = {
      domain: '12345678901234567890',
      fake_api_url: '',
      nav: { help: 'https://help.acme.test/?a=b', learn_more: 'acme.test/learn' },
      port: { terms: 'mailto:terms@acme.test', support_email: 'help@acme.test' },
      inbound_trunks_price: '6.99',
    }
    expect(await world.ross.put(path, good)).toSucceed()
  })

  it('name and colour the web interface', async () => {
    const { path } = await branded()
    await world.unchanged(async () => {
      const wrong = { brand_color: 'red;background:url(//evil.test)', application_title: 'x'.repeat(129) }
      expect(await world.ross.post(path, wrong)).toBreak({
        brand_color: ['pattern'],
        application_title: ['maxLength'],
      })
    })
    const good = { brand_color: '#0A7d4f', application_title: 'Acme Telephony' }
    expect(await world.ross.post(path, good)).toSucceedWith({ id: 'whitelabel', ...hides, ...good })
    expect(await world.ross.post(path, { brand_color: '' })).toSucceed()
  })

  it('give a domain to one account, whatever the case', async () => {
    const { domain, path } = await branded()
    const second = await world.account(world.reseller)
    const shouted = domain.toUpperCase()
    await world.unchanged(async () => {
      for (const other of [shouted, `https://${domain}/`, `${domain}.`]) {
        expect(await world.ross.put(pathOf(second), { domain: other })).toFailWith(400, 'validation error', {
          domain: { unique: { message: 'White label domain is already in use', cause: other } },
        })
      }
    })
    expect(await world.ross.post(path, { domain: shouted })).toSucceed()
    expect(await world.ross.delete(path)).toSucceed()
    expect(await world.ross.put(pathOf(second), { domain })).toSucceed()
  })

  it('let two accounts ask for a domain at once, and give it to one', async () => {
    const domain = freshHost()
    const accounts = await Promise.all([1, 2, 3].map(() => world.account(world.reseller)))
    const answers = await Promise.all(accounts.map((account) => world.ross.put(pathOf(account), { domain })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 400, 400])
  })

  it('free their domain when they get another', async () => {
    const { domain, path } = await branded()
    expect(await world.ross.post(path, { domain: freshHost() })).toSucceed()
    expect(await world.anonymous.get(`/v2/whitelabel/${domain}`)).toFailWith(404, 'bad_identifier')
    const other = await world.account(world.reseller)
    expect(await world.ross.put(pathOf(other), { domain })).toSucceed()
  })

  it('are shown to visitors of the domain', async () => {
    const { domain } = await branded({ company_name: 'Acme' })
    const expected = { id: 'whitelabel', ...hides, domain, company_name: 'Acme' }
    for (const host of [domain, domain.toUpperCase(), `${domain}.`, `${domain}:443`]) {
      expect(await world.anonymous.get(`/v2/whitelabel/${encodeURIComponent(host)}`)).toSucceedWith(expected)
    }
    const before = world.client({ 'x-auth-token': 'undefined' })
    expect(await before.get(`/v2/whitelabel/${domain}`)).toSucceedWith(expected)
    expect(await world.rex.get(`/v2/whitelabel/${domain}`, { query: { _: 1 } })).toSucceedWith(expected)
    const strange = ['nobody.test', 'not a host', '%00', 'a/../b']
    for (const host of strange) {
      const answer = await world.anonymous.get(`/v2/whitelabel/${encodeURIComponent(host)}`)
      expect(answer).toFailWith(404, 'bad_identifier', missing(host))
    }
  })

  it('are shown to visitors of a conference host, which an account shares with its sub-accounts', async () => {
    const shared = freshHost()
    const sibling = await world.account(world.reseller)
    const companyAt = async () => (await world.anonymous.get(`/v2/whitelabel/${shared}`)).data.company_name
    const above = await branded({ conference_public_domain: shared, company_name: 'Above' })
    const settings = { conference_public_domain: `https://${shared}`, company_name: 'Below' }
    const below = pathOf(await world.account(above.account))
    expect(await world.operator.put(below, settings)).toSucceed()
    expect(await companyAt()).toBe('Above')
    const next = pathOf(await world.account(above.account))
    expect(await world.operator.put(next, { ...settings, company_name: 'Next' })).toSucceed()
    expect(await companyAt()).toBe('Above')
    const strange = await world.refused(() => world.operator.put(pathOf(sibling), settings))
    expect(strange).toBreak({ conference_public_domain: ['unique'] })
    expect(await world.operator.delete(next)).toSucceed()
    await world.operator.delete(above.path)
    expect(await companyAt()).toBe('Below')
    await world.operator.post(below, { domain: shared, company_name: 'Owner' })
    expect(await companyAt()).toBe('Owner')
  })

  it('are kept by browsers for a while, but no answer that holds a token', async () => {
    const { domain, path } = await branded()
    const shown = await world.anonymous.get(`/v2/whitelabel/${domain}`)
    expect(shown.headers['cache-control']).toBe('public, max-age=60')
    expect(shown.headers.vary).toBe('X-Auth-Token, Authorization')
    const { etag = '' } = shown.headers
    const again = { headers: { 'if-none-match': etag } }
    expect((await world.anonymous.get(`/v2/whitelabel/${domain}`, again)).status).toBe(304)
    expect((await world.ross.get(path, again)).status).toBe(304)
    const known = await world.ross.get(`/v2/whitelabel/${domain}`)
    expect(known.body.auth_token).toBe(world.ross.token)
    expect(known.headers['cache-control']).toBe('private, no-cache')
    await world.ross.post(path, { domain, company_name: 'New' })
    expect((await world.anonymous.get(`/v2/whitelabel/${domain}`, again)).status).toBe(200)
  })

  it('are closed to other accounts, below the account and for changes', async () => {
    const { path } = await branded()
    await world.unchanged(async () => {
      for (const other of [world.rex, world.ada]) {
        expect(await other.get(path)).toFailWith(403, 'forbidden')
        expect(await other.post(path, {})).toFailWith(403, 'forbidden')
        expect(await other.delete(path)).toFailWith(403, 'forbidden')
      }
      expect(await world.anonymous.get(path)).toFailWith(401, 'invalid_credentials')
    })
  })

  it('are not inherited', async () => {
    const { account } = await branded()
    const below = await world.account(account)
    expect(await world.ross.get(pathOf(below))).toFailWith(404, 'bad_identifier', missing('whitelabel'))
  })

  it('are counted for services while they are there', async () => {
    const { account, path } = await branded()
    const quantity = async () => {
      const rows = await world.server.store.all(
        `SELECT own FROM quantity_moves WHERE account_id = $1 AND category = 'branding' AND item = 'whitelabel'
          UNION ALL
          SELECT own FROM quantities WHERE account_id = $1 AND category = 'branding' AND item = 'whitelabel'`,
        [account.id],
      )
      return rows.reduce((sum, { own }) => sum + Number(own), 0)
    }
    expect(await quantity()).toBe(1)
    await world.ross.post(path, {})
    expect(await quantity()).toBe(1)
    await world.ross.delete(path)
    expect(await quantity()).toBe(0)
  })

  const put = (path: string, body: string | Uint8Array, type: string, headers: Record<string, string> = {}) =>
    world.ross.post(path, undefined, { body, headers: { 'content-type': type, ...headers } })

  it('go with their account, and all that belongs to them goes too', async () => {
    const account = await world.account(world.reseller)
    const domain = freshHost()
    await world.ross.put(pathOf(account), { domain })
    await put(`${pathOf(account)}/logo`, png, 'image/png')
    await world.ross.put(`${pathOf(account)}/emails`, { email: `a@${domain}` })
    expect(await world.ross.delete(account.path)).toSucceed()
    for (const table of ['records', 'claims']) {
      const rows = await world.server.store.all(`SELECT * FROM ${table} WHERE account_id = $1`, [account.id])
      expect(rows).toEqual([])
    }
    expect(await world.anonymous.get(`/v2/whitelabel/${domain}/logo`)).toFailWith(404, 'bad_identifier')
    const next = await world.account(world.reseller)
    expect(await world.ross.put(pathOf(next), { domain })).toSucceed()
  })

  it('take files and sender addresses along when they are removed', async () => {
    const { path, domain } = await branded()
    const kept = { id: 'whitelabel', ...hides, domain }
    expect(await put(`${path}/logo`, png, 'image/png')).toSucceedWith(kept)
    await world.ross.put(`${path}/emails`, { email: `a@${domain}` })
    expect(await world.ross.delete(path)).toSucceed()
    expect(await world.ross.get(`${path}/logo`)).toFailWith(404, 'bad_identifier', missing('logo'))
    expect(await world.ross.get(`${path}/emails`)).toSucceedWith([])
  })

  describeFiles()

  function describeFiles() {
    const bytesAt = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${world.server.port}${path}`)
      return { response, bytes: Buffer.from(await response.arrayBuffer()) }
    }

    it('have a public logo, icon and welcome page', async () => {
      const { path, domain } = await branded()
      const record = { id: 'whitelabel', ...hides, domain }
      const html = '<!doctype html>\r\n<h1>Willkommen ü</h1><script>alert(1)</script>\0'
      for (const kind of ['logo', 'icon', 'welcome']) {
        for (const place of [path, `/v2/whitelabel/${domain}`]) {
          expect(await world.anonymous.get(`${place}/${kind}`)).toFailWith(
            404,
            'bad_identifier',
            missing(kind),
          )
        }
      }
      expect(await put(`${path}/logo`, png, 'image/png')).toSucceedWith(record)
      expect(await put(`${path}/icon`, ico, 'image/x-icon')).toSucceedWith(record)
      expect(await put(`${path}/welcome`, html, 'text/html')).toSucceedWith(record)
      const files: [string, Buffer, string, RegExp][] = [
        ['logo', Buffer.from(png), 'image/png', /^attachment; filename="logo-[\w-]+\.png"$/],
        ['icon', ico, 'image/x-icon', /^attachment; filename="icon-[\w-]+\.ico"$/],
        ['welcome', Buffer.from(html), 'text/html', /^attachment; filename="welcome-[\w-]+\.html"$/],
      ]
      for (const [kind, content, type, disposition] of files) {
        for (const place of [path, `/v2/whitelabel/${domain}`]) {
          const { response, bytes } = await bytesAt(`${place}/${kind}`)
          expect([response.status, bytes.equals(content)]).toEqual([200, true])
          const { headers } = response
          expect(headers.get('content-type')).toBe(type)
          expect(headers.get('content-disposition')).toMatch(disposition)
          expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
          expect(headers.get('x-content-type-options')).toBe('nosniff')
          expect(headers.get('cache-control')).toBe('public, max-age=60')
          const again = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
          expect((await world.anonymous.get(`${place}/${kind}`, again)).status).toBe(304)
        }
      }
    })

    it('show a welcome page in the character set that it was sent in', async () => {
      const { path, domain } = await branded()
      const html = '<h1>Willkommen ü</h1>'
      const typeAfter = async (type: string, body = html) => {
        expect(await put(`${path}/welcome`, body, type)).toSucceed()
        const { response, bytes } = await bytesAt(`/v2/whitelabel/${domain}/welcome`)
        expect(bytes.toString()).toBe(html)
        expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
        expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w-]+\.html"$/)
        return response.headers.get('content-type')
      }
      expect(await typeAfter('text/html; charset=utf-8')).toBe('text/html; charset=utf-8')
      expect(await typeAfter('Text/HTML;level=1;Charset="ISO-8859-15"')).toBe(
        'text/html; charset=ISO-8859-15',
      )
      const url = `data:text/html;charset=utf-8;base64,${Buffer.from(html).toString('base64')}`
      expect(await typeAfter('text/html', url)).toBe('text/html; charset=utf-8')
      const none = [
        '',
        `; charset=${'a'.repeat(41)}`,
        '; charset="a b"',
        '; charset=<script>',
        '; charset=""',
      ]
      for (const rest of none) expect(await typeAfter(`text/html${rest}`)).toBe('text/html')
      const form = new FormData()
      form.append('upload', new File([html], 'hello.html', { type: 'text/html;charset=utf-8' }))
      const encoded = new Response(form)
      const body = new Uint8Array(await encoded.arrayBuffer())
      expect(await put(`${path}/welcome`, body, encoded.headers.get('content-type') ?? '')).toSucceed()
      const { response } = await bytesAt(`${path}/welcome`)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    })

    it('take a logo raw, as base64, as a data URL and in a form', async () => {
      const { path } = await branded()
      const logo = `${path}/logo`
      const stored = async () => (await bytesAt(logo)).bytes.equals(Buffer.from(png))
      const text = Buffer.from(png).toString('base64')
      const clear = () => put(logo, gif, 'image/gif')
      const form = new FormData()
      form.append('upload', new File([Buffer.from(png)], 'Our Logo.png', { type: 'image/png' }))
      const encoded = new Response(form)
      const ways: [string | Uint8Array, string, Record<string, string>?][] = [
        [png, 'image/png'],
        [text, 'application/base64'],
        [text, 'application/x-base64'],
        [`data:image/png;base64,${text}`, 'application/x-base64'],
        [`data:image/png;base64,${text}`, 'image/png'],
        [text, 'image/png', { 'content-transfer-encoding': 'base64' }],
        [new Uint8Array(await encoded.arrayBuffer()), encoded.headers.get('content-type') ?? ''],
      ]
      for (const [body, type, headers] of ways) {
        await clear()
        expect(await put(logo, body, type, headers)).toSucceed()
        expect([type, await stored()]).toEqual([type, true])
      }
      expect((await bytesAt(logo)).response.headers.get('content-disposition')).toBe(
        'attachment; filename="logo-Our_Logo.png"',
      )
    })

    it('take as a logo only images, and only of the declared type', async () => {
      const { path } = await branded()
      await put(`${path}/logo`, png, 'image/png')
      const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
      const webp = Buffer.from('RIFF0000WEBPVP8 ')
      await world.unchanged(async () => {
        for (const [body, type] of [
          ['x', 'text/plain'],
          [svg, 'image/svg+xml'],
          [svg, 'text/html'],
          [ico, 'image/x-icon'],
          [webp, 'image/webp'],
          [webp.toString('base64'), 'application/base64'],
          [ico.toString('base64'), 'application/x-base64'],
        ] as const) {
          expect(await put(`${path}/logo`, body, type)).toFailWith(415, 'unsupported_media_type')
        }
        expect(await put(`${path}/welcome`, png, 'image/png')).toFailWith(415, 'unsupported_media_type')
        for (const [body, type] of [
          [svg, 'image/png'],
          [gif, 'image/png'],
          [`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`, 'application/x-base64'],
          [`data:image/gif;base64,${Buffer.from(png).toString('base64')}`, 'application/x-base64'],
          [Buffer.from(svg).toString('base64'), 'application/base64'],
        ] as const) {
          expect(await put(`${path}/logo`, body, type)).toBreak({ file: ['invalid'] })
        }
        expect(await put(`${path}/logo`, '%%%', 'application/base64')).toBreak({ file: ['encoding'] })
        expect(await world.ross.post(`${path}/logo`, {})).toBreak({ file: ['required'] })
        const form = new FormData()
        for (const name of ['a.png', 'b.png'])
          form.append(name, new File([Buffer.from(png)], name, { type: 'image/png' }))
        const several = new Response(form)
        const body = new Uint8Array(await several.arrayBuffer())
        const answer = await put(`${path}/logo`, body, several.headers.get('content-type') ?? '')
        expect(answer).toBreak({ file: ['maxItems'] })
      })
    })

    it('take every spelling of the types of an image', async () => {
      const { path } = await branded()
      const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(20)])
      const spellings: [string, Uint8Array, string][] = [
        ['image/jpg', jpeg, 'image/jpeg'],
        ['image/jpeg', jpeg, 'image/jpeg'],
        ['image/gif', gif, 'image/gif'],
        ['image/ico', ico, 'image/x-icon'],
        ['image/icon', ico, 'image/x-icon'],
        ['image/x-icon', ico, 'image/x-icon'],
        ['image/vnd.microsoft.icon', ico, 'image/vnd.microsoft.icon'],
      ]
      for (const [type, bytes, kept] of spellings) {
        expect(await put(`${path}/icon`, bytes, type)).toSucceed()
        expect((await bytesAt(`${path}/icon`)).response.headers.get('content-type')).toBe(kept)
      }
    })

    it('take files up to the size that is set', async () => {
      const { path } = await branded()
      const large = Buffer.concat([png, Buffer.alloc(8_000_000 - png.length)])
      expect(await put(`${path}/logo`, large, 'image/png')).toSucceed()
      expect((await bytesAt(`${path}/logo`)).bytes.length).toBe(8_000_000)
      await world.unchanged(async () => {
        const answer = await put(`${path}/logo`, Buffer.concat([large, Buffer.alloc(1)]), 'image/png')
        expect(answer).toFailWith(413, 'validation error', {
          file: { maxSize: { message: 'Body is larger than 8000000 bytes', target: 8_000_000 } },
        })
      })
      await world.configure('crossbar', { max_upload_size: 16_000_000 })
      const still = await put(`${path}/logo`, Buffer.concat([large, Buffer.alloc(1)]), 'image/png')
      expect(still.status).toBe(413)
      await world.configure('crossbar', { max_upload_size: 2048 })
      const small = await put(`${path}/logo`, Buffer.concat([png, Buffer.alloc(2048)]), 'image/png')
      expect(small.data.file.maxSize.target).toBe(2048)
    })

    it('have files only while they are there themselves', async () => {
      const account = await world.account(world.reseller)
      expect(await put(`${pathOf(account)}/logo`, png, 'image/png')).toFailWith(
        404,
        'bad_identifier',
        missing('whitelabel'),
      )
    })

    it('take files by domain, too, from the account that has it and from those above it', async () => {
      const { account, domain } = await branded()
      const admin = await world.admin(account)
      const send = (by: typeof world.ross, body: Uint8Array | string, kind = 'logo', type = 'image/png') =>
        by.post(`/v2/whitelabel/${domain}/${kind}`, undefined, { body, headers: { 'content-type': type } })
      const record = { id: 'whitelabel', ...hides, domain }
      for (const person of [admin, world.ross, world.operator]) {
        expect(await send(person, png)).toSucceedWith(record)
      }
      expect(await send(admin, ico, 'icon', 'image/x-icon')).toSucceedWith(record)
      expect(await send(admin, '<p>Hi</p>', 'welcome', 'text/html')).toSucceedWith(record)
      await world.unchanged(async () => {
        for (const person of [world.ada, world.rex]) {
          expect(await send(person, png)).toFailWith(403, 'forbidden')
        }
        const nobody = await world.anonymous.post(`/v2/whitelabel/${domain}/logo`, undefined, {
          body: png,
          headers: { 'content-type': 'image/png' },
        })
        expect(nobody).toFailWith(401, 'invalid_credentials')
        const unknown = await world.ross.post('/v2/whitelabel/nobody.test/logo', undefined, {
          body: png,
          headers: { 'content-type': 'image/png' },
        })
        expect(unknown).toFailWith(404, 'bad_identifier', missing('nobody.test'))
      })
    })
  }
})
