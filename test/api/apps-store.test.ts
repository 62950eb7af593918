// The apps of web clients: which there are, which accounts have, who sees them.
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\nicon', 'latin1')
const gif = Buffer.from('GIF89a shot', 'latin1')
const asDataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`

const accountsApp = 'a'.repeat(32)
const voipApp = 'b'.repeat(32)
const reportsApp = 'reports'

const words = { label: 'Accounts', description: 'Customers', features: ['Tree'] }

const store = {
  apps: {
    [accountsApp]: {
      name: 'accounts',
      i18n: { 'en-US': words, 'de-DE': { label: 'Kunden' } },
      tags: ['reseller'],
      icon: asDataUrl('image/png', png),
      screenshots: [asDataUrl('image/gif', gif), 'https://cdn.example.test/shot.png'],
      api_url: 'https://api.example.test/v2/',
      author: 'An operator',
      license: 'MPL-2.0',
      version: '1.2',
      price: 0,
      urls: { documentation: 'https://docs.example.test/' },
    },
    [voipApp]: { name: 'voip', masqueradable: false, icon: 'https://cdn.example.test/voip.png' },
    [reportsApp]: { i18n: { fr: { label: 'Rapports' } }, allowed_users: 'admins' },
    hidden: { name: 'hidden', published: false },
  },
}

const accountsRow = {
  id: accountsApp,
  name: 'accounts',
  i18n: { 'en-US': { label: 'Accounts', description: 'Customers' }, 'de-DE': { label: 'Kunden' } },
  tags: ['reseller'],
  icon: 'icon.png',
  api_url: 'https://api.example.test/v2/',
  masqueradable: true,
}
const reportsRow = {
  id: reportsApp,
  name: 'reports',
  i18n: { fr: { label: 'Rapports' }, 'en-US': { label: 'Rapports' } },
  tags: [],
  masqueradable: true,
}
const voipRow = {
  id: voipApp,
  name: 'voip',
  i18n: { 'en-US': { label: 'voip' } },
  tags: [],
  icon: 'https://cdn.example.test/voip.png',
  masqueradable: false,
}
const standing = { ...reportsRow, allowed_users: 'admins', users: [] }

describeAnyEngine('the apps store', (engine) => {
  const world = useWorld(engine, async ({ operator }) => {
    expect(await operator.put('/v2/system_configs/apps_store', { default: store })).toSucceed()
  })
  const pathOf = ({ path }: Pick<TestAccount, 'path'>, app = '') =>
    `${path}/apps_store${app === '' ? '' : `/${app}`}`

  const place = async (parent: TestAccount = world.reseller) => {
    const account = await world.account(parent)
    const admin = await world.admin(account)
    const user = await world.user(account)
    const recordOf = (row: object, more: object = {}) => ({
      ...row,
      account_id: account.id,
      screenshots: [],
      ...more,
    })
    return { account, admin, user, recordOf }
  }

  const idsSeenBy = async (person: Person, account: TestAccount = person.account) =>
    (await person.get(pathOf(account))).data.map(({ id }: { id: string }) => id)

  it('shows admins all that there is, by name, and others what they have', async () => {
    const { account, admin, user } = await place()
    const all = [accountsRow, standing, voipRow]
    const listed = await admin.get(pathOf(account))
    expect(listed).toSucceedWith(all)
    expect(listed.body.page_size).toBe(3)
    expect(await world.ross.get(pathOf(account))).toSucceedWith(all)
    expect(await (await world.keyHolder(account)).get(pathOf(account))).toSucceedWith(all)
    expect(await user.get(pathOf(account))).toSucceedWith([])
  })

  it('is empty where the operator has none', async () => {
    await world.operator.delete('/v2/system_configs/apps_store')
    expect(await world.ada.get(pathOf(world.acme))).toSucceedWith([])
    expect(await world.operator.put('/v2/system_configs/apps_store', { default: store })).toSucceed()
  })

  it('shows all details of one app', async () => {
    const { account, admin, recordOf, user } = await place()
    const { author, license, version, price, urls } = store.apps[accountsApp] as never
    const i18n = { 'en-US': words, 'de-DE': { label: 'Kunden' } }
    const about = { i18n, author, license, version, price, urls }
    const screenshots = ['screenshot-0.gif', 'https://cdn.example.test/shot.png']
    const whole = recordOf(accountsRow, { ...about, screenshots })
    expect(await admin.get(pathOf(account, accountsApp))).toSucceedWith(whole)
    for (const id of ['hidden', 'nosuch', accountsApp])
      expect(await user.get(pathOf(account, id))).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: id,
      })
  })

  it('installs an app for all users, for admins or for some users, and uninstalls it', async () => {
    const { account, admin, recordOf, user } = await place()
    const other = await world.user(account)
    const path = pathOf(account, voipApp)
    const installed = await admin.put(path, {})
    expect(installed).toSucceedWith(recordOf(voipRow, { allowed_users: 'all', users: [] }))
    expect(await user.get(pathOf(account))).toSucceedWith([{ ...voipRow, allowed_users: 'all', users: [] }])
    const forAdmins = await admin.post(path, { allowed_users: 'admins', users: [] })
    expect(forAdmins).toSucceedWith(recordOf(voipRow, { allowed_users: 'admins', users: [] }))
    expect(await idsSeenBy(user)).toEqual([])
    const some = { allowed_users: 'specific', users: [{ id: user.id }] }
    const twice = { allowed_users: 'specific', users: [{ id: user.id }, { id: user.id, name: 'again' }] }
    expect(await admin.post(path, twice)).toSucceedWith(recordOf(voipRow, some))
    expect(await user.get(pathOf(account))).toSucceedWith([{ ...voipRow, ...some }])
    expect(await idsSeenBy(other)).toEqual([])
    const removed = await admin.delete(path, { ui_metadata: { version: '4' } })
    expect(removed).toSucceedWith(recordOf(voipRow, some))
    expect(removed.body.metadata).toEqual({ deleted: true })
    expect(await admin.get(path)).toSucceedWith(recordOf(voipRow))
    expect(await idsSeenBy(user)).toEqual([])
  })

  it('installs an app by default where the operator configures it, until the account changes that', async () => {
    const { account, admin, recordOf, user } = await place()
    const path = pathOf(account, reportsApp)
    const everybody = { allowed_users: 'all', users: [] }
    expect(await admin.post(path, everybody)).toSucceedWith(recordOf(reportsRow, everybody))
    expect(await idsSeenBy(user)).toEqual([reportsApp])
    expect(await admin.delete(path)).toSucceed()
    expect(await admin.get(path)).toSucceedWith(recordOf(reportsRow))
    expect(await idsSeenBy(user)).toEqual([])
    expect(await admin.put(path, everybody)).toSucceedWith(recordOf(reportsRow, everybody))
  })

  it('is installed once, and nothing is done to what is not', async () => {
    const { account, admin } = await place()
    const path = pathOf(account, voipApp)
    const absent = { message: 'Application is not installed', cause: voipApp }
    for (const method of ['POST', 'DELETE'] as const) {
      const refused = await world.unchanged(() => admin.request(method, path, {}))
      expect(refused).toFailWith(400, 'Application is not installed', absent)
    }
    await admin.put(path, { allowed_users: 'admins' })
    const again = await world.unchanged(() => admin.put(path, {}))
    const present = { message: 'Application already installed', cause: voipApp }
    expect(again).toFailWith(400, 'Application already installed', present)
    const wrong = { allowed_users: 'everybody', users: [{ id: 'x' }, {}] }
    expect(await world.unchanged(() => admin.post(path, wrong))).toBreak({
      allowed_users: ['enum'],
      'users.0.id': ['minLength', 'pattern'],
      'users.1.id': ['required'],
    })
    const crowd = Array.from({ length: 1001 }, (_, index) => ({ id: index.toString(16).padStart(32, '0') }))
    expect(await admin.post(path, { users: crowd })).toBreak({ users: ['maxItems'] })
  })

  it('refuses a change that is based on an old revision', async () => {
    const { account, admin } = await place()
    const path = pathOf(account, voipApp)
    const made = await admin.put(path, {})
    const etag = String(made.headers.etag)
    expect(await admin.post(path, {}, { headers: { 'if-match': etag } })).toSucceed()
    const late = await world.unchanged(() => admin.post(path, {}, { headers: { 'if-match': etag } }))
    expect(late).toFailWith(412, 'precondition failed')
  })

  it('does not know who has left', async () => {
    const { account, admin, user } = await place()
    const stays = await world.user(account)
    const users = [{ id: user.id }, { id: stays.id }]
    await admin.put(pathOf(account, voipApp), { allowed_users: 'specific', users })
    expect(await admin.delete(user.path)).toSucceed()
    expect((await admin.get(pathOf(account, voipApp))).data.users).toEqual([{ id: stays.id }])
  })

  it('serves icons and screenshots as bytes, or redirects to their address', async () => {
    const { account, admin, user } = await place()
    const icon = await admin.get(pathOf(account, `${accountsApp}/icon`))
    expect([icon.status, icon.headers['content-type'], icon.text]).toEqual([
      200,
      'image/png',
      png.toString('utf8'),
    ])
    expect(icon.headers['content-security-policy']).toBe("default-src 'none'; sandbox")
    const query = { auth_token: admin.token, _: 1 }
    const linked = await world.anonymous.get(pathOf(account, `${accountsApp}/icon`), { query })
    expect(linked.status).toBe(200)
    const again = await admin.get(pathOf(account, `${accountsApp}/icon`), {
      headers: { 'if-none-match': String(icon.headers.etag) },
    })
    expect(again.status).toBe(304)
    const shot = await admin.get(pathOf(account, `${accountsApp}/screenshot/0`))
    expect([shot.status, shot.headers['content-type'], shot.text]).toEqual([200, 'image/gif', 'GIF89a shot'])
    for (const [path, address] of [
      [`${accountsApp}/screenshot/1`, 'https://cdn.example.test/shot.png'],
      [`${voipApp}/icon`, 'https://cdn.example.test/voip.png'],
    ] as const) {
      const elsewhere = await admin.get(pathOf(account, path))
      expect([elsewhere.status, elsewhere.headers.location]).toEqual([302, address])
    }
    for (const [path, cause] of [
      [`${reportsApp}/icon`, 'icon'],
      [`${accountsApp}/screenshot/2`, '2'],
      [`${accountsApp}/screenshot/-1`, '-1'],
      [`${accountsApp}/screenshot/length`, 'length'],
    ] as const)
      expect(await admin.get(pathOf(account, path))).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause,
      })
    expect(await user.get(pathOf(account, `${accountsApp}/icon`))).toFailWith(404, 'bad_identifier')
    expect(await world.anonymous.get(pathOf(account, `${accountsApp}/icon`))).toFailWith(
      401,
      'invalid_credentials',
    )
  })

  it('is offered where plans list it, and everywhere if they list none', async () => {
    const { account, admin } = await place()
    const planWith = async (applications: object) => {
      const plan = { name: 'Apps', plan: {}, applications }
      return (await world.ross.put(`${world.reseller.path}/service_plans`, plan)).data.id
    }
    const assign = (change: object) => world.ross.post(`${account.path}/services`, change)
    await admin.put(pathOf(account, voipApp), {})
    const plans = [
      await planWith({ [reportsApp]: {}, [voipApp]: { enabled: false } }),
      await planWith({ [accountsApp]: {}, unknown: {} }),
    ]
    expect(await assign({ add: plans.slice(0, 1) })).toSucceed()
    expect(await idsSeenBy(admin, account)).toEqual([reportsApp])
    const absent = await world.refused(() => admin.delete(pathOf(account, voipApp)))
    expect(absent).toFailWith(404, 'bad_identifier')
    expect(await assign({ add: plans.slice(1) })).toSucceed()
    expect(await idsSeenBy(admin, account)).toEqual([accountsApp, reportsApp])
    expect(await assign({ delete: plans })).toSucceed()
    expect(await idsSeenBy(admin, account)).toEqual([accountsApp, reportsApp, voipApp])
  })

  it('is not seen where it is on the blacklist, nor below', async () => {
    const { account, admin, user } = await place()
    const below = await world.account(account)
    const list = pathOf(account, 'blacklist')
    await admin.put(pathOf(account, voipApp), {})
    expect(await admin.get(list)).toSucceedWith({ blacklist: [] })
    const blacklist = [voipApp, 'gone-since']
    expect(await admin.post(list, { blacklist })).toSucceedWith({ blacklist })
    expect(await admin.get(list)).toSucceedWith({ blacklist })
    expect(await idsSeenBy(user)).toEqual([])
    expect(await idsSeenBy(admin)).toEqual([accountsApp, reportsApp])
    expect(await idsSeenBy(admin, below)).toEqual([accountsApp, reportsApp])
    expect(await idsSeenBy(world.ross, world.reseller)).toEqual([accountsApp, reportsApp, voipApp])
    expect(await admin.put(pathOf(below, voipApp), {})).toFailWith(404, 'bad_identifier')
    expect(await admin.post(list, { blacklist: [] })).toSucceedWith({ blacklist: [] })
    expect(await idsSeenBy(user)).toEqual([voipApp])
    const wrong = { blacklist: ['a b', voipApp, voipApp] }
    expect(await world.unchanged(() => admin.post(list, wrong))).toBreak({
      'blacklist.0': ['pattern'],
      blacklist: ['uniqueItems'],
    })
    expect(await admin.post(list, {})).toBreak({ blacklist: ['required'] })
  })

  it('does not let an account remove an entry of the blacklist that an account above added', async () => {
    const { account, admin } = await place()
    const list = pathOf(account, 'blacklist')
    expect(await world.ross.post(list, { blacklist: [voipApp] })).toSucceed()
    const more = { blacklist: [voipApp, reportsApp] }
    expect(await admin.post(list, more)).toSucceedWith(more)
    const lifted = await world.unchanged(() => admin.post(list, { blacklist: [reportsApp] }))
    expect(lifted).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      cause: `a parent account put these on the blacklist: ${voipApp}`,
    })
    expect(await admin.post(list, { blacklist: [voipApp] })).toSucceed()
    expect(await world.operator.post(list, { blacklist: [] })).toSucceedWith({ blacklist: [] })
    expect(await admin.post(list, more)).toSucceed()
    expect(await admin.post(list, { blacklist: [] })).toSucceed()
  })

  it('is open only to its account and to accounts above it', async () => {
    const { account, admin, user } = await place()
    const path = pathOf(account, voipApp)
    await admin.put(path, { allowed_users: 'specific', users: [{ id: world.rex.id }] })
    for (const stranger of [world.rex, world.uli])
      for (const asked of ['', voipApp, `${accountsApp}/icon`, `${accountsApp}/screenshot/0`, 'blacklist'])
        expect(await stranger.get(pathOf(account, asked))).toFailWith(403, 'forbidden', notForCaller)
    for (const stranger of [world.rex, world.uli, user])
      for (const [method, asked, data] of [
        ['PUT', reportsApp, {}],
        ['POST', voipApp, {}],
        ['DELETE', voipApp, {}],
        ['POST', 'blacklist', { blacklist: [] }],
      ] as const) {
        const refused = await world.unchanged(() => stranger.request(method, pathOf(account, asked), data))
        expect(refused).toFailWith(403, 'forbidden', notForCaller)
      }
    expect(await user.get(pathOf(account, 'blacklist'))).toFailWith(403, 'forbidden', notForCaller)
    // A user of another account gets no access, even when listed among the allowed users.
    expect(await idsSeenBy(world.rex)).toEqual([accountsApp, reportsApp, voipApp])
    expect((await world.rex.get(pathOf(world.rival, voipApp))).data.allowed_users).toBeUndefined()
  })

  it('reports changes in the feed and the audit log, and is deleted with its account', async () => {
    const { account, admin } = await place()
    await admin.put(pathOf(account, voipApp), {})
    const doc = { apps: { [voipApp]: { allowed_users: 'all', users: [] } }, blacklist: [] }
    const { data: events } = await admin.get(`${account.path}/events?type=apps_store.*`)
    expect(events).toMatchObject([
      { type: 'apps_store.created', record: { kind: 'apps_store', id: account.id }, after: doc },
    ])
    const { data: audit } = await admin.get(`${account.path}/audit?kind=apps_store`)
    expect(audit).toMatchObject([{ action: 'created', record: { kind: 'apps_store', id: account.id } }])
    expect(await world.ross.delete(account.path)).toSucceed()
    const left = await world.server.store.all(
      "SELECT id FROM records WHERE kind = 'apps_store' AND id = $1",
      [account.id],
    )
    expect(left).toEqual([])
  })

  it('takes in what is a picture, an address, an id', async () => {
    const patch = (apps: object) =>
      world.unchanged(() => world.operator.patch('/v2/system_configs/apps_store', { default: { apps } }))
    expect(await patch({ one: { icon: asDataUrl('image/png', Buffer.from('<svg/>')) } })).toBreak({
      'default.apps.one.icon': ['invalid'],
    })
    expect(await patch({ one: { icon: 'javascript:alert(1)' } })).toBreak({
      'default.apps.one.icon': ['pattern'],
    })
    expect(await patch({ one: { icon: `data:image/png;base64,${'A'.repeat(200_000)}` } })).toBreak({
      'default.apps.one.icon': ['maxLength'],
    })
    expect(await patch({ one: { screenshots: ['https://cdn.example.test/', 'http://['] } })).toBreak({
      'default.apps.one.screenshots.1': ['invalid'],
    })
    expect(await patch({ one: { api_url: 'ftp://x' } })).toBreak({ 'default.apps.one.api_url': ['pattern'] })
    for (const id of ['blacklist', 'a b', 'a'.repeat(65)])
      expect(await patch({ [id]: { name: 'x' } })).toBreak({
        [`default.apps.${id}`]: ['additionalProperties'],
      })
  })
})
