// Brands, notices, packet limits and rules of signing in of another system, from their documents to the answers of the API.
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { convertPeople } from '../../import-kazoo/conversions/people.rules.ts'
import type { PeopleContext } from '../../import-kazoo/conversions/people-context.rules.ts'
import { accountDatabase } from '../../import-kazoo/documents/database-names.ts'
import { readDocument } from '../../import-kazoo/documents/fields.ts'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { qrPng } from '../../src/http/response/qr-png.ts'
import type { Json } from '../../src/lib/json.ts'
import { createNotices } from '../../src/mail/notices.ts'
import { type Arriving, createTaker } from '../support/kazoo/adopting.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const declared = declarationsOf(areas)
const known = createNotices(declared.notices)

describeAnyEngine('documents of a Kazoo', (engine) => {
  const taker = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker.area] })

  const contextOf = ({ id, realm }: TestAccount): PeopleContext => ({
    accountId: id,
    realm,
    lost: new Set(),
    notices: Object.fromEntries(known.ids.map((name) => [name, known.of(name)])),
    accountSettings: new Set(Object.keys(declared.accountSettings)),
    providers: new Set(),
  })

  interface Given {
    id: string
    type: string
    fields: Json
    files?: Readonly<Record<string, Buffer>>
  }

  /** The records to import, made from documents of an account and their files. */
  const arriving = (account: TestAccount, ...given: readonly Given[]): Arriving[] => {
    const bytesOf = new Map(given.map(({ id, files = {} }) => [id, files]))
    const documents = given.map(({ id, type, fields, files = {} }) => {
      const _attachments = Object.fromEntries(
        Object.entries(files).map(([name, bytes]) => [name, { content_type: 'x/y', length: bytes.length }]),
      )
      const times = { pvt_created: 63_800_000_000, pvt_modified: 63_800_000_001 }
      const whole = { _id: id, pvt_type: type, ...times, _attachments, ...fields }
      const source = { id, rev: '1-a', text: JSON.stringify(whole), conflicts: [] }
      return readDocument(accountDatabase(account.id), source)
    })
    return convertPeople(documents, contextOf(account)).flatMap(({ document, drafts }) =>
      drafts.map((draft) => ({
        ...draft,
        files: draft.files.map(({ role, name, contentType }) => ({
          role,
          name,
          contentType,
          bytes: bytesOf.get(document.id)?.[name] ?? Buffer.of(),
        })),
      })),
    )
  }

  /** Taken in once, however often they come. */
  const takeTwice = async (all: readonly Arriving[]) => {
    expect(await taker.take(world, ...all)).toEqual(all.map(() => true))
    expect(await world.unchanged(() => taker.take(world, ...all))).toEqual(all.map(() => false))
  }

  it('make a brand with its files, which are public at its domain', async () => {
    const account = await world.account(world.acme)
    const png = Buffer.from(qrPng('a logo'))
    const domain = `brand${account.id.slice(-6)}.example`
    const brand = {
      id: 'whitelabel',
      type: 'whitelabel',
      fields: { company_name: 'Acme', domain },
      files: { 'brand.png': png },
    }
    const all = arriving(account, brand)
    await takeTwice(all)
    const path = `${account.path}/whitelabel`
    expect(await world.ada.get(path)).toSucceedWith(
      expect.objectContaining({ id: 'whitelabel', company_name: 'Acme', domain }),
    )
    const shown = await world.anonymous.get(`/v2/whitelabel/${domain}/logo`)
    expect([shown.status, shown.headers['content-type']]).toEqual([200, 'image/png'])
    expect((await world.server.areas.services.quantities.of(account.id)).account).toMatchObject({
      branding: { whitelabel: 1 },
    })
    // The newest version has no logo.
    await taker.take(world, ...arriving(account, { ...brand, files: {} }))
    expect((await world.anonymous.get(`/v2/whitelabel/${domain}/logo`)).status).toBe(404)
    expect(await taker.remove(world, 'whitelabel', { accountId: account.id, id: 'whitelabel' })).toBe(true)
    expect((await world.ada.get(path)).status).toBe(404)
    expect((await world.server.areas.services.quantities.of(account.id)).account.branding).toBeUndefined()
  })

  it('make a brand without files that are none', () => {
    const problemOf = (role: string, bytes: Buffer) =>
      taker
        .adoptionOf('whitelabel')
        .fileProblem?.({ role, contentType: 'x/y', bytes }, { accountId: '', id: '' })
    expect(problemOf('logo', Buffer.from(qrPng('a logo')))).toBeUndefined()
    expect(problemOf('welcome', Buffer.from('<p>'))).toBeUndefined()
    for (const role of ['logo', 'icon', 'other'])
      expect(problemOf(role, Buffer.from('<svg>'))).toBe('it is too large, or its type cannot be shown')
  })

  it('make a sender address that cannot be used until it is confirmed', async () => {
    const account = await world.account(world.acme)
    const sender = { id: 'a'.repeat(32), type: '', fields: { email: 'a@b.example', verified: true } }
    await takeTwice(arriving(account, sender))
    expect(await world.ada.get(`${account.path}/whitelabel/emails`)).toSucceedWith([
      { id: sender.id, email: 'a@b.example', verified: false },
    ])
  })

  it('make notices of those bodies that say the same here', async () => {
    const account = await world.account(world.acme)
    const body = '<p>Welcome {{user.first_name}} {{ user.last_name }}</p>'
    const files = { 'template.text/html': Buffer.from(body) }
    const plain = {
      id: 'notification.new_user',
      type: 'notification',
      fields: { subject: 'Hello {{user.first_name}}', enabled: true },
      files,
    }
    const odd = {
      id: 'notification.new_account',
      type: 'notification',
      fields: {},
      files: { 'template.text/plain': Buffer.from('{% if user %}Hello{% endif %}') },
    }
    await takeTwice(arriving(account, plain, odd))
    const at = (name: string, type: string) =>
      world.ada.get(`${account.path}/notifications/${name}`, { headers: { accept: type } })
    expect((await at('new_user', 'application/json')).data).toMatchObject({
      subject: 'Hello {{user.first_name}}',
      account_overridden: true,
      templates: { 'text/html': { length: Buffer.byteLength(body) } },
    })
    expect((await at('new_user', 'text/html')).text).toBe(body)
    // The one above still speaks.
    expect((await at('new_account', 'text/plain')).text).toContain('{{new_account.name}}')
    const problemOf = (text: string, id = 'new_user') =>
      taker
        .adoptionOf('notification')
        .fileProblem?.({ role: 'html', contentType: 'x/y', bytes: Buffer.from(text) }, { accountId: '', id })
    expect(problemOf(body)).toBeUndefined()
    expect(problemOf('{% if user %}')).toBe('it has conditions or filters')
    expect(problemOf('{{user.first_name|upper}}')).toBe('it has conditions or filters')
    expect(problemOf('{{nobody.knows}}')).toBe('it uses unknown macros')
    expect(problemOf('x'.repeat(200_001))).toBe('it is larger than 200000 bytes')
  })

  it('make packet limits, which stay when their account is imported again', async () => {
    const id = 'b'.repeat(32)
    const tree = [world.master.id]
    const facts = {
      tree,
      isReseller: false,
      isSuperduper: false,
      allowsNumberAdditions: false,
      enabled: true,
    }
    const account: Arriving = {
      as: 'account',
      accountId: id,
      id,
      doc: { name: 'Limited', realm: 'limited.example' },
      facts: { ...facts, nameClaim: 'limited' },
    }
    await taker.take(world, account)
    const place = { id, name: 'Limited', realm: 'limited.example', path: `/v2/accounts/${id}` }
    const own = { account: { per_minute: { total_packets: 9 } }, device: { per_second: { invites: 1 } } }
    const limits = arriving(
      place,
      { id: 'c'.repeat(32), type: 'device', fields: { name: 'Phone' } },
      { id: 'limits', type: 'rate_limits', fields: { pvt_owner_id: id, ...own } },
      {
        id: 'd'.repeat(32),
        type: 'rate_limits',
        fields: { pvt_owner_id: 'c'.repeat(32), per_minute: { invites: 2 } },
      },
    )
    await takeTwice(limits)
    const read = async (path: string) => (await world.operator.get(`${place.path}${path}/rate_limits`)).data
    expect(await read('')).toEqual(own)
    expect(await read(`/devices/${'c'.repeat(32)}`)).toEqual({ per_minute: { invites: 2 } })
    expect(await taker.take(world, account)).toEqual([false])
    expect(await taker.take(world, { ...account, doc: { ...account.doc, shoe: 45 } })).toEqual([true])
    expect(await read('')).toEqual(own)
    expect(await taker.remove(world, 'packet_limits', { accountId: id, id })).toBe(true)
    expect(await taker.remove(world, 'packet_limits', { accountId: id, id })).toBe(false)
    expect(await read('')).toEqual({})
  })

  it('keep requiring a second factor that is not available here: the user cannot sign in or choose another one', async () => {
    const account = await world.account(world.acme)
    const md5 = createHash('md5').update('ann:secret').digest('hex')
    const provider = 'e'.repeat(32)
    const factor = { enabled: true, configuration_id: provider, account_id: account.id }
    const name = { first_name: 'Ann', last_name: 'Li', username: 'ann', enabled: true }
    const duo = { pvt_provider_type: 'multi_factor', provider_name: 'duo', name: 'Duo', enabled: true }
    await takeTwice(
      arriving(
        account,
        { id: 'f'.repeat(32), type: 'user', fields: { ...name, pvt_md5_auth: md5 } },
        { id: provider, type: 'provider', fields: { ...duo, settings: { secret_key: 'duo-secret' } } },
        {
          id: 'configs_crossbar.auth',
          type: 'account_config',
          fields: { auth_modules: { cb_user_auth: { multi_factor: factor } } },
        },
      ),
    )
    const credentials = { credentials: md5, account_name: account.name }
    const refused = await world.anonymous.put('/v2/user_auth', credentials)
    expect(refused.status).toBe(401)
    expect(refused.data).toMatchObject({ multi_factor_request: { provider_name: expect.anything() } })
    const enrolment = await world.anonymous.put('/v2/multi_factor/qrcode', credentials)
    expect([enrolment.status, JSON.stringify(enrolment.data)]).toEqual([
      501,
      expect.stringContaining('not available on this server'),
    ])
    expect(await world.ada.get(`${account.path}/security`)).toSucceedWith(
      expect.objectContaining({ account: { auth_modules: { cb_user_auth: { multi_factor: factor } } } }),
    )
    expect((await world.ada.get(`${account.path}/multi_factor`)).data.configured).toEqual([
      { id: provider, name: 'Duo', provider_name: 'duo', enabled: true },
    ])
  })

  it('make restrictions of tokens and settings of the account', async () => {
    const account = await world.account(world.acme)
    const restrictions = { _: { _: { devices: [{ rules: { '#': ['GET'] } }] } } }
    await takeTwice(
      arriving(
        account,
        { id: 'restrictions', type: 'token_restrictions', fields: { restrictions } },
        {
          id: 'configs_auth.password',
          type: 'account_config',
          fields: { should_enforce_strength: true, should_prevent_reuse: 'often' },
        },
      ),
    )
    expect((await world.ada.get(`${account.path}/token_restrictions`)).data).toMatchObject({ restrictions })
    const config = await world.ada.get(`${account.path}/configs/auth.password`)
    // The import drops values that the schema does not allow.
    expect(config.data.should_enforce_strength).toBe(true)
    expect(config.data.should_prevent_reuse).not.toBe('often')
    expect(await taker.remove(world, 'token_restrictions', { accountId: account.id, id: account.id })).toBe(
      true,
    )
  })
})
